/** Names the encoding of a file that is read as a table or a list (`toUtf8`). */
export const encodingOption = ['--encoding <name>', 'encoding, such as windows-1250, if not UTF-8 or UTF-16'] as const;
