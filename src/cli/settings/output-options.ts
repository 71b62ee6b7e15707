/** Output formats of stdout: `human` for users, the others machine-readable. */
export const formats = ['human', 'json', 'jsonl', 'csv', 'tsv', 'quiet'] as const;
export type Format = (typeof formats)[number];

/** Output format, field selection and jq filter of a command's result. */
export type OutputOptions = {
  format: Format;
  /** `--fields`: paths such as `name` and `player_config.theme`, in order. */
  fields: readonly string[] | undefined;
  /** `--jq`: a filter over the JSON that would be printed. */
  jq: string | undefined;
};
