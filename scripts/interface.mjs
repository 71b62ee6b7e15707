// Lists the names of the public interface, which test/interface holds and a test compares.

/** Marks a name that the interface no longer has. CHANGELOG.md must spell it out under "Breaking". */
export const removedMark = '- ';

/**
 * Returns the lists by path. A name of the earlier list that is gone stays, with `removedMark`.
 *
 * @param names names by kind: commands, settings, errors, schemas
 * @param earlier returns the text that the last `npm run generate` wrote to a path; empty if there is none
 */
export const interfaceFiles = ({ tree, settings, errors, schemas }, earlier) =>
  Object.fromEntries(
    Object.entries({
      commands: namesOfCommand(tree),
      settings,
      errors,
      schemas: Object.entries(schemas).flatMap(([name, schema]) => namesOfSchema(name, schema)),
    }).map(([kind, names]) => {
      const path = `test/interface/${kind}.txt`;
      const known = earlier(path).split('\n').filter(Boolean);
      const removed = known.map((name) => name.replace(removedMark, '')).filter((name) => !names.includes(name));
      return [path, `${[...names, ...removed.map((name) => removedMark + name)].join('\n')}\n`];
    }),
  );

const namesOfCommand = ({ path, aliases, short, arguments: list, options, children }) => [
  [path, ...list.map(({ term }) => term)].join(' '),
  ...[...aliases, ...short].map((word) => `${path} = ${word}`),
  ...options.map(({ flags, choices }) => `${path} ${flags}${choices.length > 0 ? ` (${choices.join(', ')})` : ''}`),
  ...children.flatMap(namesOfCommand),
];

const namesOfSchema = (path, { type, enum: values = [], items, anyOf = [], properties = {} }) => [
  ...(type === undefined ? [] : [`${path} ${type}`]),
  ...values.map((value) => `${path} ${JSON.stringify(value)}`),
  ...(items ? namesOfSchema(`${path}[]`, items) : []),
  ...anyOf.flatMap((each) => namesOfSchema(path, each)),
  ...Object.entries(properties).flatMap(([name, each]) => namesOfSchema(`${path}.${name}`, each)),
];
