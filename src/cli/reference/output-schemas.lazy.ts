import jsonSchemas from '../../../docs/schemas.json' with { type: 'json' };
import { type CommandNode, twinOf } from './command-node.ts';
import type { schemas } from './schemas.ts';

/**
 * Names of the schemas of what commands print with --json, by the words that lead to it. A command without a row
 * prints records that have no schema, such as those of the service; null says so of one of its results. What --dry-run
 * prints is a row only if it is not `dry-run`.
 */
export const outputSchemas: Readonly<Record<string, keyof typeof schemas | null>> = {
  upload: 'upload',
  'upload --dry-run': 'upload-dry-run',
  sync: 'upload',
  'sync --dry-run': 'upload-dry-run',
  check: 'check',
  'play --probe': 'probe',
  'play --url': 'playback-url',
  'play ID ID --url': 'playback-urls',
  'assets ls --follow': 'follow',
  'assets ls --html': 'contact-sheet',
  'assets download': 'downloads',
  'assets update': 'changes',
  'assets tag': 'changes',
  'assets mv': 'changes',
  'assets mv /FOLDER /INTO': null,
  'assets rm': 'changes',
  'assets apply': 'apply',
  'assets stats': 'stats',
  undo: 'changes',
  history: 'history',
  'history CHANGE': 'history-items',
  'history CHANGE --resume': 'changes',
  'uploads ls --finished': 'finished-upload',
  'uploads resume': 'upload',
  'queue ls': 'queued-upload',
  'queue watch': 'upload',
  'queue work': 'upload',
  'queue retry': 'queued-upload',
  'queue forget': 'queued-upload',
  'embed domains add': 'embed-domains',
  'embed domains rm': 'embed-domains',
  'embed domains sync': 'embed-domains',
  commands: 'commands',
  'commands COMMAND': 'command',
};

/**
 * Returns the JSON Schema of what a command prints with --json, or null if it has none. The schemas of several results
 * are under `anyOf`, each with its command line as title; one without a schema accepts every value.
 */
export function outputSchemaOf(node: CommandNode): object | null {
  const path = (twinOf(node) ?? node.path).replace('mediactl ', '');
  const others = Object.keys(outputSchemas).filter((row) => node.children.length === 0 && row.startsWith(`${path} `));
  const schemaOf = (row: string) => (outputSchemas[row] ? jsonSchemas[outputSchemas[row]] : null);
  if (others.length === 0) return schemaOf(path);
  const anyOf = [path, ...others].map((row, at) => {
    // A recursive schema refers to itself as the root, which it is not here.
    const text = JSON.stringify(schemaOf(row) ?? {}).replaceAll('"$ref":"#"', `"$ref":"#/anyOf/${at}"`);
    const { $schema: _, ...schema } = JSON.parse(text);
    return { title: row.replace(path, node.path), ...schema };
  });
  return { $schema: jsonSchemas.error.$schema, anyOf };
}
