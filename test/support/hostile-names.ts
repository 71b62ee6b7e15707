/** Names that tables, spreadsheets or shells change easily. */
export const hostileNames: string[] = [
  ...["'Round Midnight", '-', '=1+1', '+49 30 123', '@home', '007', '1e5', '3/4', 'TRUE', '2026-01-02'],
  ...[
    'a, b; c',
    'clip;=1+1',
    'say "hi"',
    'two\nlines',
    'tab\there',
    'Zürich – 東京 🎬',
    'e\u0301clair',
    '$(id)',
    "''",
    '12,5',
    'NULL',
  ],
];
