import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Cli } from './cli.ts';

/** Compiles a JSON Schema. A value may have any format: only structure is checked. */
export function compileSchema(schema: object) {
  const formats = { uuid: true, uri: true, 'date-time': true } as const;
  return new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, formats }).compile(schema);
}

/**
 * Compares a value with the schema that `commands COMMAND --json` shows.
 *
 * @param call command with what its output depends on, such as `play --probe`, as in the title of a schema
 * @returns the differences; null if the output of the command has no schema
 */
export async function findSchemaErrors(cli: Cli, call: string, value: unknown): Promise<unknown[] | null> {
  const [command = ''] = call.split(/ (?=[-A-Z/])/);
  const { output_schema: schema } = await cli.json(['commands', ...command.split(' ')]);
  if (schema === null) return null;
  const titles: string[] = schema.anyOf?.map(({ title }: { title: string }) => title) ?? [];
  if (titles.length === 0 ? call !== command : !titles.includes(`mediactl ${call}`))
    throw new Error(`${call} is not a title in ${JSON.stringify(titles)}`);
  const own = titles.length > 0 && { $ref: `#/anyOf/${titles.indexOf(`mediactl ${call}`)}` };
  const validate = compileSchema({ ...schema, ...own });
  validate(value);
  return validate.errors ?? [];
}
