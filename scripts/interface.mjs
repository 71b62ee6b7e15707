// Lists the names of the public interface, which test/interface holds and a test compares.

/** Marks a name that the interface no longer has. CHANGELOG.md must spell it out under "Breaking". */
export const removedMark = '- ';

/**
 * Returns the lists by path. A name of the earlier list that is gone stays, with `removedMark`.
 *
 * @param names names by kind: commands, settings, errors, schemas
 * @param earlier returns the text that the last `npm run generate` wrote to a path; empty if there is none
 */
export const interfaceFiles = ({ tree, settings, errors, schemas }, earlier) => ({
  ...Object.fromEntries(
    Object.entries({
      commands: namesOfCommand(tree),
      settings,
      errors,
      schemas: Object.entries(schemas).flatMap(([name, schema]) => namesOfSchema(name, schema)),
    }).map(([kind, names]) => {
      const path = `test/interface/${kind}.txt`;
      const known = earlier(path).split('\n').filter(Boolean);
      const earlierNames = [...new Set(known.map((name) => name.replace(removedMark, '')))];
      const removed = earlierNames.filter((name) => !names.includes(name));
      return [path, `${[...names, ...removed.map((name) => removedMark + name)].join('\n')}\n`];
    }),
  ),
  [countsPath]: countLines(countsOf({ tree, settings, errors }), parseCounts(earlier(countsPath))),
});

/** File with the size of the interface: a line for each count, with the smallest that it ever was. */
export const countsPath = 'test/interface/counts.txt';

const countsOf = ({ tree, settings, errors }) => {
  const verbs = leavesOf(tree);
  // An option of several verbs counts once, if it is described in the same words: then it is learnt once, too.
  const optionsOf = (nodes) =>
    new Set(nodes.flatMap(({ options }) => options.map(({ flags, description }) => `${flags} ${description}`))).size;
  return {
    verbs: verbs.length,
    options: optionsOf(verbs),
    'options of upload': optionsOf(verbs.filter(({ path }) => path === 'mediactl upload')),
    'options of sync': optionsOf(verbs.filter(({ path }) => path === 'mediactl sync')),
    'error codes': errors.length,
    settings: settings.length,
  };
};

const leavesOf = (node) => (node.children.length === 0 ? [node] : node.children.flatMap(leavesOf));

/** Returns the counts in the text of the file by name; `least` is the smallest that the count ever was. */
export const parseCounts = (text) =>
  Object.fromEntries(
    [...text.matchAll(/^(.+): (\d+)(?:, was (\d+))?$/gm)].map(([, name, count, least = count]) => [
      name,
      { count: Number(count), least: Number(least) },
    ]),
  );

/** A count above the smallest keeps that one, so that the rise is seen without the history of the repository. */
const countLines = (counts, earlier) =>
  Object.entries(counts)
    .map(([name, count]) => {
      const least = Math.min(count, earlier[name]?.least ?? count);
      return `${name}: ${count}${count > least ? `, was ${least}` : ''}\n`;
    })
    .join('');

/**
 * Returns the counts that have risen without a sentence in the changelog, which is a line such as
 * `- Options: 250 → 252, since sync can watch a directory.`
 */
export const unexplainedRises = (text, changelog) =>
  Object.entries(parseCounts(text)).flatMap(([name, { count, least }]) => {
    const sentence = new RegExp(`^- ${name}: ${least} → (\\d+)\\D.*\\w`, 'gim');
    const isExplained = [...changelog.matchAll(sentence)].some(([, explained]) => Number(explained) >= count);
    return count > least && !isExplained ? [`${name}: ${least} → ${count}`] : [];
  });

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
