import { allColumns, type ForeignLine, noChecksum, noEmbedCode, renames, uploadCommands } from './foreign-commands.ts';
import { filterLines } from './foreign-filter-lines.ts';
import { tagLines } from './foreign-tag-lines.ts';
import { toolLines } from './foreign-tool-lines.ts';

const lists = ['assets ls', 'videos ls', 'export', 'browse'];
const oneAsset = ['get', 'play', 'wait', 'update', 'rename', 'tag', 'thumb', 'player-data', 'open'];

/** Paths of this machine where the library is meant. */
const localPaths: readonly ForeignLine[] = [
  {
    after: ['assets ls', 'videos ls', 'browse'],
    line: /^(?:-\S+ )*(\.{1,2}\/?)(?: |$)/,
    when: 'refused',
    use: 'mediactl {verb} /, for the top level of the library; mediactl sync {1} /FOLDER -n, for files of this machine',
  },
  {
    after: ['assets ls', 'videos ls', 'browse'],
    line: /^(?:-\S+ )*(\.{1,2}\/\S+)/,
    when: 'refused',
    use: 'mediactl upload {1} -n --existing anywhere, to see if it is uploaded; a folder of the library begins with a slash',
  },
  {
    after: ['mv'],
    line: /^(?:-\S+ )*(\.{1,2}\/\S*) (\/\S*)/,
    when: 'refused',
    use: 'mediactl upload {1} {2}',
  },
  {
    after: ['mv'],
    line: /^(?:-\S+ )*[^-.]\S* (\.{1,2}(?:\/\S*)?)$/,
    when: 'refused',
    use: 'mediactl download ID -d {1}',
  },
  {
    after: ['rm', 'folders mv', 'folders rename'],
    line: /^(?:-\S+ )*(\.{1,2}(?:\/\S*)?)(?: |$)/,
    when: 'refused',
    cannot: 'mediactl changes no files of this machine',
    use: 'mediactl ls /, for what is in the library',
  },
  {
    after: ['play', ...oneAsset],
    line: /^(?:-\S+ )*(\.{1,2}\/?)(?: |$)/,
    when: 'refused',
    use: 'mediactl browse /, for the whole library; mediactl ls, to find an asset',
  },
  {
    after: ['mv', 'download', ...oneAsset],
    line: /^(?:-\S+ )*(\.{1,2}\/\S+)/,
    when: 'refused',
    use: 'mediactl upload {1}; mediactl ls, to find an asset of the library',
  },
];

/** Words that are no search. */
const searches: readonly ForeignLine[] = [
  {
    after: ['assets ls', 'videos ls'],
    line: /(?:^| )(?:-n|--dry-run)[ =]?(\d+)(?: |$)/,
    use: 'mediactl {verb} --limit {1}',
  },
  { after: ['logs'], line: /(?:^| )(?:-n|--dry-run)[ =]?(\d+)(?: |$)/, use: 'mediactl sandbox logs --lines {1}' },
  {
    after: ['assets ls'],
    line: /^(?!.*--follow).*--since\b/,
    use: '--created-after DATE; --since needs --follow, which lists changes',
  },
  { after: ['assets ls', 'videos ls'], line: /(?:^| )-(?!1$)(\d+)$/, use: 'mediactl {verb} --limit {1}' },
  { after: ['history'], line: /(?:^| )-(?:n )?(\d+)(?: |$)/, use: "mediactl history --jq '.[:{1}]'" },
  { after: lists, line: /(?:^| )tag:(\S+)/, use: 'mediactl {verb} --tag {1}' },
  { after: ['assets ls', 'export', 'browse'], line: /(?:^| )type:(\S+)/, use: 'mediactl {verb} --type {1}' },
  { after: lists, line: /(?:^| )status:(\S+)/, use: 'mediactl {verb} --status {1}' },
  { after: lists, line: /(?:^| )(?:folder|in):([^\s/]\S*)/, use: 'mediactl {verb} /{1}' },
  { after: lists, line: /(?:^| )(?:created|after|since|date):(\S+)/, use: 'mediactl {verb} --created-after {1}' },
  {
    after: lists,
    line: /^(?!-)([^\s/]*[*?][^\s/]*)$/,
    use: "mediactl {verb} '/**/*.mp4', for a glob in all folders",
  },
  {
    after: ['assets ls', 'videos ls'],
    line: /^([^\s-]\S*\.\w{2,4}) ([^\s-]\S*\.\w{2,4}(?: [^\s-]\S*\.\w{2,4})*)$/,
    is: 'file',
    use: "mediactl get {1} {2}, for assets of these names; mediactl upload {1} {2} -n --existing anywhere, for files of this machine; quote a glob, such as '/*.mp4'",
  },
  {
    after: ['assets ls', 'videos ls'],
    line: /^([^\s-]\S*\.\w{2,4}(?: [^\s-]\S*\.\w{2,4})+)$/,
    use: 'mediactl get {1}, for assets of these names',
  },
  {
    after: lists,
    line: /(?:^| )(\S+)(?: |$)/,
    is: 'file',
    use: "it is a file of this machine: mediactl upload {1} -n --existing anywhere, to see if it is uploaded; quote a glob, such as '/*.mp4'",
  },
  {
    after: lists,
    line: /^(?:-\S+ )*(\S*[^\s/]\S*?)\/?$/,
    is: 'directory',
    use: 'it is a directory of this machine: mediactl check {1} /FOLDER, to compare it with a folder',
  },
  { after: lists, line: /(?:^| )([\w-]{2,}):$/, use: 'mediactl {verb} --profile {1}, for another account' },
  {
    after: ['assets ls'],
    line: /(?:-o|--output)[ =](?:wide|long|name)\b/,
    use: '--json, which has every field; --fields NAMES',
  },
  { after: lists, line: /--format[ =]\S*\{\{/, use: "--jq '.[].name', for a field of each" },
  { after: ['assets ls', 'videos ls'], line: /^(\d+)$/, use: 'mediactl {verb} --limit {1}, for a number of assets' },
  { after: lists, line: /^(?:all|\*)$/, use: 'mediactl ls --all' },
];

/** Words beside the sources of an upload. */
const uploads: readonly ForeignLine[] = [
  // Until sync was a command of its own, they were options of upload.
  {
    after: ['upload'],
    line: /(?:^| )--(?:sync|watch|move-to|prune|max-changes|log-format)\b/,
    use: 'mediactl sync {words}',
  },
  {
    after: uploadCommands,
    line: /\.(?:vtt|srt|ass|ssa)\b.* --to\b/,
    cannot: 'the API cannot add subtitles',
    use: 'mediactl play ID --json, for those that the asset has',
  },
  {
    after: uploadCommands,
    line: /(?:^| )(?:to|into|->) (\/\S*)/,
    use: 'mediactl {verb} PATH {1}, without a word before it',
  },
  { after: uploadCommands, line: /(?:^| )(?:to|into) ([^\s/]+)\/?$/, use: 'mediactl {verb} PATH /{1}' },
  { after: uploadCommands, line: /(?:^| )as (\S+)$/, use: 'mediactl upload FILE --name {1}' },
  {
    after: ['mediactl sync', 'check'],
    line: /^(\/\S*) ([^\s/.:-][^\s/:]*)(?: |$)/,
    is: 'directory',
    use: 'mediactl {verb} {1} /{2}; a folder begins with a slash',
  },
  {
    after: ['mediactl sync'],
    line: /^([^\s/-]\S*) ([^\s/.:-][^\s/:]*)(?: |$)/,
    use: 'mediactl {verb} {1} /{2}; a folder begins with a slash',
  },
  { after: ['check'], line: /^(?=\S+ ([^\s/-]\S*)$)(\/\S*)/, is: 'directory', use: 'mediactl check {1} {2}' },
  { after: ['check'], line: /^(?=\S+ ([^\s/-]\S*)$)(\/\S*)/, is: 'file', use: 'mediactl check {1} {2}' },
  {
    after: uploadCommands,
    line: / ([^\s/:-][^\s/:]*)\/$/,
    use: 'mediactl {verb} PATH /{1}; a folder begins with a slash',
  },
  {
    after: uploadCommands,
    line: / (?:s3|gs|b2|az|gdrive|r2):\/{0,2}\S*$/,
    cannot: 'mediactl uploads to the library only',
    use: 'mediactl sync DIR /FOLDER; rclone sync DIR REMOTE:PATH, for a bucket',
  },
  {
    after: uploadCommands,
    line: / [\w.-]+@?[\w.-]*:\/?\S*$/,
    cannot: 'the account is that of the profile, not a part of the path',
    use: 'mediactl {verb} PATH /FOLDER --profile NAME',
  },
  {
    after: uploadCommands,
    line: /^(\S+) (\/\S*) --(?:remove-source|remove-source-files|delete-source|move)$/,
    is: 'directory',
    cannot: 'mediactl deletes no local files',
    use: 'mediactl sync {1} {2} --move-to ./uploaded, which moves each uploaded file there',
  },
  { after: ['sync'], line: /--delete(?:-\w+)?\b/, use: '--prune, with mediactl sync DIR /FOLDER' },
  {
    after: [...uploadCommands, 'download'],
    line: /(?:^| )--progress (?!(?:auto|bar|plain|json|none)\b)(\S+)/,
    use: 'leave --progress out: it is shown on a terminal',
  },
  {
    after: [...uploadCommands, 'download'],
    line: /(?:^| )--progress(?: -|$)/,
    use: 'leave --progress out: it is shown on a terminal',
  },
  {
    after: uploadCommands,
    line: /--include .*--exclude[ =]\*{1,2}(?: |$)/,
    use: "leave --exclude '*' out: with --include, all other files are left out anyway",
  },
  {
    after: uploadCommands,
    line: /^--name[ =]\S+ (\/\S*)$/,
    use: 'COMMAND | mediactl upload - {1} --name NAME',
  },
];

const oneName = 'a rename gives one asset or folder a name';

/** Words beside the id of an asset. */
const assets: readonly ForeignLine[] = [
  {
    after: ['mv', 'rename'],
    line: /^([^\s/.-][^\s/]*)\/ (\S+)$/,
    use: 'mediactl {verb} /{1} {2}; a folder begins with a slash',
  },
  {
    after: ['rm', 'download', 'play', 'get'],
    line: /^(?:-\S+ )*([^\s/.-][^\s/]*)\/(?: |$)/,
    use: 'mediactl {verb} /{1}; a folder begins with a slash',
  },
  { after: ['download'], line: /^(?:all|\*|everything)$/, use: 'mediactl download / -d DIR, for the whole library' },
  {
    after: ['download', 'assets rm', 'assets mv', 'assets tag', 'update'],
    line: /^all$/,
    use: "mediactl {verb} '/FOLDER/*', for all in a folder",
  },
  {
    after: ['download'],
    line: /^[^\s-]\S* ([^\s-]\S*)$/,
    is: 'directory',
    use: 'mediactl download ID -d {1}',
  },
  { after: ['wait'], line: / (\d+)$/, use: '--timeout {1}s' },
  // Options of update, and a subcommand of sandbox, that tag and open have replaced.
  { after: ['update'], line: /^(\S+) --add-tag[ =](\S+)$/, use: 'mediactl tag {1} --add {2}' },
  { after: ['update'], line: /^(\S+) --remove-tag[ =](\S+)$/, use: 'mediactl tag {1} --remove {2}' },
  { after: ['sandbox'], line: /^open (\S+)/, use: 'mediactl open {1}' },
  { after: ['wait'], line: / (\d+[smh])$/, use: '--timeout {1}' },
  {
    after: ['rename'],
    line: /^(\/\S+) s\/.*\//,
    cannot: oneName,
    use: 'mediactl export {1} names.csv; edit the column name; mediactl apply names.csv',
  },
  {
    after: ['rename'],
    line: /(?:^| )s\/.*\//,
    cannot: oneName,
    use: renames,
  },
  { after: ['rename'], line: /^(\S+) (?:to|as|->) (\S+)$/, use: 'mediactl rename {1} {2}' },
  {
    after: ['rename'],
    line: /^([^\s-]\S*) ((?:[^\s./-][^\s./]* )+[^\s/-][^\s/]*)$/,
    cannot: 'a name of several words needs quotes',
    use: 'mediactl rename {1} "{2}"',
  },
  { after: ['rename'], line: /^[^\s-]\S*(?: [^\s-]\S*){2,}$/, cannot: oneName, use: renames },
  {
    after: ['mv'],
    line: /^\S*[*?]\S* [^\s/]*[*?]\S*$/,
    use: renames,
  },
  { after: ['mv'], line: /^(\S+) (?:to|into|in) (\/\S*)$/, use: 'mediactl mv {1} {2}' },
  {
    after: ['mv'],
    line: /^([^\s/]+)(?: .*)? (\/\S*)$/,
    is: 'file',
    use: 'mediactl upload {1} {2}, for a file of this machine',
  },
  { after: ['mv'], line: /^(\S+) ([^\s/.]+\.\w{2,4})$/, use: 'mediactl rename {1} {2}' },
  {
    after: ['play'],
    line: /^([^\s-]\S*) (?:--copy|--clipboard|-c)$/,
    use: 'mediactl share {1} | pbcopy; xclip or wl-copy on Linux',
  },
  {
    after: ['play'],
    line: /^([^\s-]\S*) (\d+:\d\d(?::\d\d)?|\d+s)$/,
    cannot: 'a playback URL has no start time',
    use: 'mpv --start={2} "$(mediactl play {1} --url)"',
  },
  {
    after: ['stats'],
    line: /^([^\s/-][^\s/]*\.\w{2,4})(?: --(?:plays|views|analytics))?$/,
    cannot: 'the API has no analytics, and stats counts assets of a folder',
    use: 'mediactl get {1}; mediactl stats /FOLDER',
  },
  { after: ['stats'], line: /(?:^| )--by-(folder|type|status|month|tag)\b/, use: '--by {1}' },
  { after: ['update'], line: /^([^\s-]\S*) --folder[ =](\/\S*)/, use: 'mediactl mv {1} {2}' },
  {
    after: ['download', 'get'],
    line: /^(https?:\S+)/,
    cannot: 'a URL is no asset',
    use: 'curl -OL {1}, to save it here; mediactl upload {1}, to copy it into the library',
  },
  {
    after: ['export'],
    line: /--(?:fields|columns)[ =]\S*(?:checksum|md5|sha\d|hash)/,
    cannot: noChecksum,
    use: 'mediactl check DIR /FOLDER --download, which compares the bytes',
  },
  {
    after: ['export'],
    line: /--(?:fields|columns?|select|cols)[ =]([^\s-]\S*)/,
    cannot: allColumns,
    use: 'mediactl ls --all --csv --fields {1}',
  },
  { after: ['export'], line: /--format[ =](?:xlsx?|excel|ods)\b/, use: 'mediactl export library.csv' },
];

/** Words beside other commands. */
const others: readonly ForeignLine[] = [
  {
    after: ['api'],
    line: /^(GET|POST|PUT|PATCH|DELETE|get|post|put|patch|delete) (\S+)/,
    use: 'mediactl api {2} -X {1}',
  },
  { after: ['api'], line: /(?:^| )-q (\S+)/, use: '--jq {1}' },
  { after: ['config set'], line: /^profile[ =](\S+)/, use: 'mediactl auth switch {1}' },
  { after: ['config get'], line: /^$/, use: 'mediactl config ls, for all settings' },
  {
    after: ['history'],
    line: /^(clear|delete|prune|reset|rm)$/,
    cannot: 'no command deletes the history: it keeps changes so that they can be undone, and deletes old ones itself',
    use: 'mediactl history, for the changes that it keeps',
  },
  {
    after: ['undo'],
    line: /^(?:--last|--latest|last|latest|@last)$/,
    use: 'mediactl undo, which reverts the last change',
  },
  {
    after: ['undo'],
    line: /^(?:--all|all)$/,
    cannot: 'undo reverts one change',
    use: 'mediactl history, to list them; mediactl undo CHANGE, for each',
  },
  {
    after: ['embed'],
    line: /^[^\s-]+\.\w{2,4}(?: |$)|--(?:width|height)\b|^@last\b/,
    cannot: noEmbedCode,
    use: 'mediactl assets player-data ID, for what a page with a player needs; mediactl share ID',
  },
  { after: ['login'], line: /^(https?:\S+|[^\s-]\S*\.\S+)(?: |$)/, use: 'mediactl login --base-url {1}' },
];

/** Lines of other programs. If several rows match a line, the first one decides. */
export const foreignLines: readonly ForeignLine[] = [
  localPaths,
  filterLines,
  searches,
  uploads,
  tagLines,
  assets,
  others,
  toolLines,
].flat();
