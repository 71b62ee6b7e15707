import type { CommandDefinition } from './commands/command.ts';

/** A top-level command; its subcommands are loaded lazily. */
export type Noun = {
  name: string;
  summary: string;
  /** Heading in the help; undefined for a hidden command. */
  group?: 'Media' | 'Organise' | 'Account' | 'Try it' | 'Scripting';
  load(): Promise<CommandDefinition>;
};

/** All top-level commands, in help order. A command's module is loaded only when the command is called. */
export const nouns: Noun[] = [
  {
    name: 'upload',
    group: 'Media',
    summary: 'upload files, continuing where an earlier run stopped',
    load: async () => (await import('./commands/upload/upload.ts')).upload,
  },
  {
    name: 'uploads',
    group: 'Media',
    summary: 'see, finish, wait for or forget uploads, of this machine or a queue',
    load: async () => (await import('./commands/uploads/uploads.ts')).uploads,
  },
  {
    name: 'worker',
    group: 'Media',
    summary: 'upload what other machines queue',
    load: async () => (await import('./commands/worker/worker.ts')).worker,
  },
  {
    name: 'check',
    group: 'Media',
    summary: 'compare a directory with a folder',
    load: async () => (await import('./commands/check/check.ts')).check,
  },
  {
    name: 'assets',
    group: 'Media',
    summary: 'list, read, change, fetch and delete assets of any type',
    load: async () => (await import('./commands/assets/assets.ts')).assets,
  },
  {
    name: 'videos',
    group: 'Media',
    summary: 'the same for videos alone',
    load: async () => (await import('./commands/assets/assets.ts')).videos,
  },
  {
    name: 'play',
    group: 'Media',
    summary: 'resolve what to play, and check that it plays',
    load: async () => (await import('./commands/play/play.ts')).play,
  },
  {
    name: 'browse',
    group: 'Media',
    summary: 'look at the library in a browser, edit it, drop files into it',
    load: async () => (await import('./commands/browse/browse.ts')).browse,
  },
  {
    name: 'folders',
    group: 'Organise',
    summary: 'see, make, rename, move and delete folders by path',
    load: async () => (await import('./commands/folders/folders.ts')).folders,
  },
  {
    name: 'workspaces',
    group: 'Organise',
    summary: 'list workspaces, choose the one to work in',
    load: async () => (await import('./commands/workspaces/workspaces.ts')).workspaces,
  },
  {
    name: 'embed',
    group: 'Organise',
    summary: 'restrict embedding, keep the list of domains that may',
    load: async () => (await import('./commands/embed/embed.ts')).embed,
  },
  {
    name: 'auth',
    group: 'Account',
    summary: 'log in, switch between accounts, see what a key may do',
    load: async () => (await import('./commands/auth/auth.ts')).auth,
  },
  {
    name: 'config',
    group: 'Account',
    summary: 'see what is set, and where; keep settings in a profile',
    load: async () => (await import('./commands/config/config.ts')).config,
  },
  {
    name: 'doctor',
    group: 'Account',
    summary: 'check this machine, the account and the service; learn its names',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  {
    name: 'sandbox',
    group: 'Try it',
    summary: 'run the whole service on this machine, to try things and to test',
    load: async () => (await import('./commands/sandbox/sandbox.ts')).sandbox,
  },
  {
    name: 'api',
    group: 'Scripting',
    summary: 'call any path of the API',
    load: async () => (await import('./commands/api/api.ts')).api,
  },
  {
    name: 'completion',
    group: 'Scripting',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./reference/commands/completion.ts')).completion,
  },
  {
    name: 'commands',
    group: 'Scripting',
    summary: 'list every command, as JSON too',
    load: async () => (await import('./reference/commands/commands.ts')).commands,
  },
  {
    name: 'schema',
    group: 'Scripting',
    summary: 'print the JSON Schema of what mediactl prints',
    load: async () => (await import('./reference/commands/schema.ts')).schema,
  },
  {
    name: '__complete',
    summary: 'names for completion',
    load: async () => (await import('./reference/commands/complete.ts')).complete,
  },
];
