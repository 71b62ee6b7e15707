/** Permissions that an API key can have (§5.7). */
export const scopes = ['Read Assets', 'Write Assets', 'Delete Assets'] as const;
export type Scope = (typeof scopes)[number];
