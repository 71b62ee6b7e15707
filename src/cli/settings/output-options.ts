/** Output formats for stdout. All except `table` are machine-readable. */
export const formats = ['table', 'json', 'jsonl', 'csv', 'tsv', 'uid'] as const;
export type Format = (typeof formats)[number];

/** Output format, field selection and jq filter for a command's result. */
export type OutputOptions = {
  format: Format;
  /** Paths from `--fields`, such as `name` and `player_config.theme`, in the order given. */
  fields: readonly string[] | undefined;
  /** Filter from `--jq`, applied to the JSON that would otherwise be printed. */
  jq: string | undefined;
};
