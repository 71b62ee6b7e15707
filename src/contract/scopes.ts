/** §5.7: what a key may do. */
export const scopes = ['Read Assets', 'Write Assets', 'Delete Assets'] as const;

export type Scope = (typeof scopes)[number];
