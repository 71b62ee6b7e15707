export const encodingOption = ['--encoding <name>', 'encoding, such as windows-1250, if not UTF-8 or UTF-16'] as const;
