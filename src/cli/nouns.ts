import type { CommandDefinition } from './command.ts';
import { shortcutSummary } from './shortcuts.ts';

/** A top-level command; its subcommands are loaded lazily. */
export type Noun = { name: string; summary: string; load(): Promise<CommandDefinition> };

/** A row of the help; one that loads nothing is a shortcut. */
type Row = { summary: string; load?: Noun['load'] };

const short = (...words: string[]): Record<string, Row> =>
  Object.fromEntries(words.map((word) => [word, { summary: shortcutSummary(word) }]));

/** Top-level commands and shortcuts by their heading in the help, in help order. */
const groups: Record<string, Record<string, Row>> = {
  'Everyday commands': {
    upload: {
      summary: 'upload files and directories, or resume uploading them',
      load: async () => (await import('./commands/upload/upload.ts')).upload,
    },
    sync: {
      summary: 'upload new and changed files of a directory',
      load: async () => (await import('./commands/upload/upload.ts')).sync,
    },
    check: {
      summary: 'compare files with a folder, and list what is missing',
      load: async () => (await import('./commands/check/check.ts')).check,
    },
    ...short('wait', 'ls', 'get', 'download'),
    play: {
      summary: 'get playback URLs, or play an asset',
      load: async () => (await import('./commands/play/play.ts')).play,
    },
    ...short('share'),
    browse: {
      summary: 'show the library in a browser',
      load: async () => (await import('./commands/browse/browse.ts')).browse,
    },
    ...short('mv', 'rename', 'update', 'tag', 'rm', 'stats', 'export', 'apply'),
    undo: {
      summary: 'revert a change',
      load: async () => (await import('./commands/history/undo.ts')).undo,
    },
  },
  'More commands': {
    assets: {
      summary: 'all commands for assets of any type',
      load: async () => (await import('./commands/assets/assets.ts')).assets,
    },
    videos: {
      summary: 'commands of assets, for videos only',
      load: async () => (await import('./commands/assets/assets.ts')).videos,
    },
    folders: {
      summary: 'list, create, rename, move and delete folders',
      load: async () => (await import('./commands/folders/folders.ts')).folders,
    },
    uploads: {
      summary: 'list, resume and forget uploads',
      load: async () => (await import('./commands/uploads/uploads.ts')).uploads,
    },
    workspaces: {
      summary: 'list workspaces and set the default',
      load: async () => (await import('./commands/workspaces/workspaces.ts')).workspaces,
    },
    history: {
      summary: 'list the changes that this machine made, and resume one',
      load: async () => (await import('./commands/history/history.ts')).history,
    },
    embed: {
      summary: 'restrict embedding to a list of domains',
      load: async () => (await import('./commands/embed/embed.ts')).embed,
    },
    queue: {
      summary: 'upload from several machines, by a queue that they share',
      load: async () => (await import('./commands/queue/queue.ts')).queue,
    },
  },
  Account: {
    ...short('login', 'logout', 'whoami'),
    auth: {
      summary: 'log in and switch accounts',
      load: async () => (await import('./commands/auth/auth.ts')).auth,
    },
    config: {
      summary: 'show and change settings',
      load: async () => (await import('./commands/config/config.ts')).config,
    },
    doctor: {
      summary: 'check this machine, the account and the service',
      load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
    },
  },
  'Try it': {
    sandbox: {
      summary: 'run the whole service on this machine',
      load: async () => (await import('./commands/sandbox/sandbox.ts')).sandbox,
    },
  },
  Scripting: {
    api: {
      summary: 'send a request to the API',
      load: async () => (await import('./commands/api/api.ts')).api,
    },
    completion: {
      summary: 'set up Tab completion in your shell',
      load: async () => (await import('./reference/commands/completion.ts')).completion,
    },
    commands: {
      summary: 'list every command, also as JSON',
      load: async () => (await import('./reference/commands/commands.ts')).commands,
    },
  },
};

const hidden: Noun = {
  name: '__complete',
  summary: 'names for completion',
  load: async () => (await import('./reference/commands/complete.ts')).complete,
};

/** All top-level commands except shortcuts. A command's module is loaded only when the command is called. */
export const nouns: Noun[] = [
  ...Object.values(groups).flatMap((commands) =>
    Object.entries(commands).flatMap(([name, { summary, load }]) => (load ? [{ name, summary, load }] : [])),
  ),
  hidden,
];

export const isHidden = (name: string) => name === hidden.name;

/** Headings of the top help page, and the name and summary of each command below them. */
export const helpGroups: [title: string, commands: [name: string, summary: string][]][] = Object.entries(groups).map(
  ([title, commands]) => [title, Object.entries(commands).map(([name, { summary }]) => [name, summary])],
);
