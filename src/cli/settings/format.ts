/** What stdout carries: a view for people, or one of the machine forms. */
export const formats = ['human', 'json', 'jsonl', 'csv', 'tsv', 'quiet'] as const;
export type Format = (typeof formats)[number];

/** The form of the result, and what is taken out of it. */
export type Shape = {
  format: Format;
  /** `--fields`: paths such as `name` and `player_config.theme`, in order. */
  fields: readonly string[] | undefined;
  /** `--jq`: a filter over the JSON that would be printed. */
  jq: string | undefined;
};
