/** Commands that change nothing, without those of `videos`, and the options with which they do. */
const reading: Readonly<Record<string, readonly string[]>> = {
  check: [],
  play: ['web'],
  history: ['resume'],
  doctor: ['write', 'learn'],
  commands: [],
  'assets ls': ['html'],
  'assets get': [],
  'assets player-data': [],
  'assets wait': [],
  'assets stats': [],
  'assets export': ['output'],
  'folders tree': [],
  'folders ls': [],
  'uploads ls': [],
  'workspaces ls': [],
  'embed show': [],
  'embed domains ls': [],
  'queue ls': [],
  'queue watch': [],
  'auth ls': [],
  'auth status': [],
  'auth token': [],
  'config ls': [],
  'config get': [],
  'config path': [],
  'sandbox status': [],
  'sandbox logs': [],
};

/**
 * Returns true if a command line changes nothing, so that `-n` was not meant as `--dry-run`.
 *
 * @param path command without `mediactl`, such as `assets ls`
 * @param options options that were typed, by the names of Commander
 */
export const isReading = (path: string, options: Readonly<Record<string, unknown>>): boolean =>
  reading[path.replace(/^videos /, 'assets ')]?.every((name) => options[name] === undefined) ?? false;
