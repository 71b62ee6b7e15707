import type { CommandDefinition } from './commands/command.ts';

/** A top-level command; its subcommands are loaded lazily. */
export type Noun = {
  name: string;
  summary: string;
  /** Heading in the help; undefined for a hidden command. */
  group?: string;
  load(): Promise<CommandDefinition>;
};

/** Top-level commands by their heading in the help, in help order. */
const groups: Record<string, Record<string, Omit<Noun, 'name' | 'group'>>> = {
  Media: {
    upload: {
      summary: 'upload files, continuing where an earlier run stopped',
      load: async () => (await import('./commands/upload/upload.ts')).upload,
    },
    uploads: {
      summary: 'see, finish, wait for or forget uploads, of this machine or a queue',
      load: async () => (await import('./commands/uploads/uploads.ts')).uploads,
    },
    worker: {
      summary: 'upload what other machines queue',
      load: async () => (await import('./commands/worker/worker.ts')).worker,
    },
    check: {
      summary: 'compare a directory with a folder',
      load: async () => (await import('./commands/check/check.ts')).check,
    },
    assets: {
      summary: 'list, read, change, fetch and delete assets of any type',
      load: async () => (await import('./commands/assets/assets.ts')).assets,
    },
    videos: {
      summary: 'the same for videos alone',
      load: async () => (await import('./commands/assets/assets.ts')).videos,
    },
    play: {
      summary: 'resolve what to play, and check that it plays',
      load: async () => (await import('./commands/play/play.ts')).play,
    },
    browse: {
      summary: 'look at the library in a browser, edit it, drop files into it',
      load: async () => (await import('./commands/browse/browse.ts')).browse,
    },
  },
  Organise: {
    folders: {
      summary: 'see, make, rename, move and delete folders by path',
      load: async () => (await import('./commands/folders/folders.ts')).folders,
    },
    workspaces: {
      summary: 'list workspaces, choose the one to work in',
      load: async () => (await import('./commands/workspaces/workspaces.ts')).workspaces,
    },
    embed: {
      summary: 'restrict embedding, keep the list of domains that may',
      load: async () => (await import('./commands/embed/embed.ts')).embed,
    },
  },
  Account: {
    auth: {
      summary: 'log in, switch between accounts, see what a key may do',
      load: async () => (await import('./commands/auth/auth.ts')).auth,
    },
    config: {
      summary: 'see what is set, and where; keep settings in a profile',
      load: async () => (await import('./commands/config/config.ts')).config,
    },
    doctor: {
      summary: 'check this machine, the account and the service; learn its names',
      load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
    },
  },
  'Try it': {
    sandbox: {
      summary: 'run the whole service on this machine, to try things and to test',
      load: async () => (await import('./commands/sandbox/sandbox.ts')).sandbox,
    },
  },
  Scripting: {
    api: {
      summary: 'call any path of the API',
      load: async () => (await import('./commands/api/api.ts')).api,
    },
    completion: {
      summary: 'print the completion script of a shell',
      load: async () => (await import('./reference/commands/completion.ts')).completion,
    },
    commands: {
      summary: 'list every command, as JSON too',
      load: async () => (await import('./reference/commands/commands.ts')).commands,
    },
    schema: {
      summary: 'print the JSON Schema of what mediactl prints',
      load: async () => (await import('./reference/commands/schema.ts')).schema,
    },
  },
};

const hidden: Noun = {
  name: '__complete',
  summary: 'names for completion',
  load: async () => (await import('./reference/commands/complete.ts')).complete,
};

/** All top-level commands. A command's module is loaded only when the command is called. */
export const nouns: Noun[] = [
  ...Object.entries(groups).flatMap(([group, commands]) =>
    Object.entries(commands).map(([name, noun]) => ({ name, group, ...noun })),
  ),
  hidden,
];
