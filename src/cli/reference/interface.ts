import { z } from 'zod';
import { errorRow, errorTable, exitCodes } from '../../client/error-table.ts';
import { type Setting, settingTable } from '../settings/setting-table.ts';
import { allNodes, type CommandNode } from './command-node.ts';
import { schemas } from './schemas.ts';

/** Marks a name that the interface no longer has. CHANGELOG.md must spell it out under "Breaking". */
export const removedMark = '- ';

/**
 * Lists the names of the public interface, one per line: commands with arguments and options, settings, error codes, and
 * the fields and values of JSON output. A name of the earlier list that is gone stays, with `removedMark`.
 *
 * @param earlier lists by path, as `npm run generate` last wrote them
 */
export function interfacePages(tree: CommandNode, earlier: (path: string) => string): Record<string, string> {
  const current = {
    commands: allNodes(tree).flatMap(namesOfCommand),
    settings: Object.entries<Setting>(settingTable).map(([name, { variable }]) => [name, variable].join(' ').trim()),
    errors: Object.keys(errorTable).map(
      (code) => `${code} exit ${exitCodes[errorRow(code as keyof typeof errorTable).exit]}`,
    ),
    schemas: Object.entries(schemas).flatMap(([name, schema]) =>
      namesOfSchema(name, z.toJSONSchema(schema) as JsonSchema),
    ),
  };
  return Object.fromEntries(
    Object.entries(current).map(([kind, names]) => {
      const path = `test/interface/${kind}.txt`;
      const listed = new Set(names);
      const known = earlier(path).split('\n').filter(Boolean);
      const removed = known.map((name) => name.replace(removedMark, '')).filter((name) => !listed.has(name));
      return [path, `${[...names, ...removed.map((name) => removedMark + name)].join('\n')}\n`];
    }),
  );
}

function namesOfCommand({ path, aliases, short, arguments: list, options }: CommandNode): string[] {
  return [
    [path, ...list.map(({ term }) => term)].join(' '),
    ...[...aliases, ...short].map((word) => `${path} = ${word}`),
    ...options.map(({ flags, choices }) => `${path} ${flags}${choices.length > 0 ? ` (${choices.join(', ')})` : ''}`),
  ];
}

type JsonSchema = { type?: unknown; enum?: unknown[]; properties?: object; items?: JsonSchema; anyOf?: JsonSchema[] };

function namesOfSchema(path: string, schema: JsonSchema): string[] {
  const { type, items, properties = {}, anyOf = [] } = schema;
  const values = schema.enum?.map((value) => `${path} ${JSON.stringify(value)}`) ?? [];
  return [
    ...(type === undefined ? [] : [`${path} ${type}`]),
    ...values,
    ...(items ? namesOfSchema(`${path}[]`, items) : []),
    ...anyOf.flatMap((each) => namesOfSchema(path, each)),
    ...Object.entries(properties).flatMap(([name, each]) => namesOfSchema(`${path}.${name}`, each as JsonSchema)),
  ];
}
