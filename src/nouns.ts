import type { Define } from './commands/command.ts';

export type Noun = { name: string; summary: string; isHidden?: boolean; load(): Promise<Define> };

/** The command tree, noun by noun; a noun's module is loaded when it is called. */
export const nouns: Noun[] = [
  {
    name: 'auth',
    summary: 'log in, switch between accounts, see what a key may do',
    load: async () => (await import('./commands/auth/auth.ts')).auth,
  },
  {
    name: 'assets',
    summary: 'list, read, change, fetch and delete assets of any type',
    load: async () => (await import('./commands/assets/assets.ts')).assets,
  },
  {
    name: 'videos',
    summary: 'the same for videos alone',
    load: async () => (await import('./commands/assets/assets.ts')).videos,
  },
  {
    name: 'upload',
    summary: 'upload files, going on where an earlier run stopped',
    load: async () => (await import('./commands/upload/upload.ts')).upload,
  },
  {
    name: 'check',
    summary: 'compare a directory with a folder',
    load: async () => (await import('./commands/upload/check.ts')).check,
  },
  {
    name: 'uploads',
    summary: 'see, finish, wait for or forget the uploads of this machine',
    load: async () => (await import('./commands/upload/uploads.ts')).uploads,
  },
  {
    name: 'workspaces',
    summary: 'list workspaces, choose the one to work in',
    load: async () => (await import('./commands/workspaces/workspaces.ts')).workspaces,
  },
  {
    name: 'folders',
    summary: 'see, make, rename, move and delete folders by path',
    load: async () => (await import('./commands/folders/folders.ts')).folders,
  },
  {
    name: 'embed',
    summary: 'restrict embedding, keep the list of domains that may',
    load: async () => (await import('./commands/embed/embed.ts')).embed,
  },
  {
    name: 'play',
    summary: 'resolve what to play, and check that it plays',
    load: async () => (await import('./commands/play/play.ts')).play,
  },
  {
    name: 'api',
    summary: 'call any path of the API',
    load: async () => (await import('./commands/api/api.ts')).api,
  },
  {
    name: 'config',
    summary: 'see what is set, and where; keep settings in a profile',
    load: async () => (await import('./commands/config/config.ts')).config,
  },
  {
    name: 'doctor',
    summary: 'check this machine, the account and the service; learn its names',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  {
    name: 'sandbox',
    summary: 'run the whole service on this machine, to try and to test with',
    load: async () => (await import('./commands/sandbox/sandbox.ts')).sandbox,
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./reference/verbs/completion.ts')).completion,
  },
  {
    name: 'commands',
    summary: 'list every command, as JSON too',
    load: async () => (await import('./reference/verbs/commands.ts')).commands,
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of what mediactl prints',
    load: async () => (await import('./reference/verbs/schema.ts')).schema,
  },
  {
    name: '__complete',
    summary: 'names for completion',
    isHidden: true,
    load: async () => (await import('./reference/verbs/complete.ts')).complete,
  },
];
