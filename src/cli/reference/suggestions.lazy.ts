import { closestSpellings } from '../../client/spelling.ts';

const onSessionExpired = 'leave it out: an expired session starts again, and the run names the incomplete asset';

const onColor = 'NO_COLOR=1 or FORCE_COLOR=1 in the environment';

/** Command that does the job of a word, by the command that lacks the word: '' is mediactl itself. */
const alternatives: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  export: { '--sort': 'leave it out: sort the table in the spreadsheet program' },
  '': {
    du: 'mediactl stats',
    size: 'mediactl stats',
    dupes: 'mediactl stats --duplicates',
    duplicates: 'mediactl stats --duplicates',
    tags: 'mediactl stats --tags',
    thumb: 'mediactl assets thumb ID -o FILE',
    thumbnail: 'mediactl assets thumb ID -o FILE',
    poster: 'mediactl assets thumb ID -o FILE',
    worker: 'mediactl queue work',
    schema: 'mediactl commands NAME --json, which has the JSON Schema of the result',
  },
  assets: { share: 'mediactl play ID --url, or mediactl share ID' },
  domains: { '-f': 'mediactl embed domains sync FILE', '--file': 'mediactl embed domains sync FILE' },
  history: {
    '--pause': 'Ctrl-C where it runs, then mediactl history CHANGE --resume',
    '--cancel': 'Ctrl-C where it runs; without --resume, nothing more is written',
  },
  update: {
    '--manifest': 'mediactl apply FILE, for a table with the column uid',
    '--body': '--set KEY=VALUE or --set-json KEY=JSON for each field',
    '--set-tags': 'mediactl tag ID --set sea,night',
    '--no-tags': "mediactl tag ID --set ''",
  },
  upload: {
    '--duplicates': '--existing content, anywhere or file, for skip, skip-anywhere or upload',
    '--ignore-existing': '--existing name',
    '--estimate': 'mediactl upload FILE -n, which also prints the totals, requests and time',
    '--stdin-size': 'leave it out: stdin is saved to a file first, and then resumable',
    '--on-session-expired': onSessionExpired,
  },
  rm: { '-r': 'mediactl rm -r /FOLDER', '--recursive': 'mediactl rm -r /FOLDER' },
  resume: { '--force': '--existing upload', '--on-session-expired': onSessionExpired },
  uploads: {
    export: 'mediactl uploads ls --finished --jsonl, to list the finished uploads',
    import: 'mediactl check DIR /FOLDER --download, to find what the folder has already',
    watch: 'mediactl queue watch',
    retry: 'mediactl queue retry --all',
  },
  ls: {
    '--queue': 'mediactl queue ls',
    '--show-origin': 'leave it out: mediactl config ls always shows it',
  },
  forget: {
    '--queue': 'mediactl queue forget ID',
    '--finished': 'mediactl queue forget --finished, for the uploads of a queue',
  },
};

const filterOptions = /^--(?:search|type|status|tag|folder|created-after|created-before)$/;

/** Returns what to type instead of a word of an older version or of another program, if it is known. */
export function findAlternative(commandPath: readonly string[], word: string): string | undefined {
  const verb = commandPath.at(-1) ?? '';
  if (word === '--max-delete') return '--max-changes';
  if (word === '--color') return onColor;
  if (filterOptions.test(word) && /^(?:update|wait)$/.test(verb))
    return `mediactl ls -q ${word} … | mediactl ${verb} -`;
  if (/^(?:ls|export|browse)$/.test(verb) && word === '--search') return `mediactl ${verb} WORDS`;
  if (/^(?:ls|export|browse|check)$/.test(verb) && word === '--folder')
    return verb === 'check' ? 'mediactl check DIR /FOLDER' : `mediactl ${verb} /FOLDER`;
  return alternatives[verb]?.[word];
}

/** Commands and options that delete or replace data. They are never suggested, since a typing error could run them. */
const destructive = /^(rm|delete|forget|reset|logout|--prune|--trash|--yes|-y|--force)$/;

/** Returns a suggestion with the known names that are most similar to an unknown command or option, if any are. */
export function findSuggestion(unknown: string, known: readonly string[]): string | undefined {
  const similar = closestSpellings(
    unknown,
    known.filter((each) => !destructive.test(each)),
  );
  return similar.length > 0 ? `did you mean ${similar.join(' or ')}?` : undefined;
}
