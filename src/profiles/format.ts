/** What stdout carries: a view for people, or one of the machine forms. */
export type Format = 'human' | 'json' | 'jsonl' | 'quiet';
