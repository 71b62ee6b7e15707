/** Row of the tables of words that people bring from gh, rclone, aws, Mux, Bunny, ffmpeg and file managers. */
export type ForeignWord = {
  /** Commands, or options with their hyphens, separated by spaces. */
  words: string;
  /**
   * Ends of the commands after which the words are typed, such as `ls`, `embed domains` or `mediactl sync`. Without it, a command is typed
   * first (or after `assets` or `videos`), and an option after any command.
   */
  after?: readonly string[];
  /** Why there is nothing that does the same, as a sentence. */
  cannot?: string;
  /**
   * The replacement: a template in which `{verb}` is the command and `{word}` the word. If it begins with an option, the
   * row applies only to commands that have that option.
   */
  use: string;
};

/** Row of the table of whole command lines that people bring from other tools, of which each word alone is no mistake. */
export type ForeignLine = Omit<ForeignWord, 'words' | 'after'> & {
  /** Ends of the commands after which it is typed; '' for a command that is unknown. */
  after: readonly string[];
  /** Matches the words after the command, joined by spaces. In `use`, `{1}` is its first group, `{words}` all. */
  line: RegExp;
  /** Kind of local path that the first group must match. */
  is?: 'file' | 'directory';
  /**
   * `refused` before the command runs. Without it, the row is the hint of an error that names the first group, and of an
   * empty list.
   */
  when?: 'refused';
};

/** Commands that upload, as `ForeignWord.after` has them. */
export const uploadCommands = ['upload', 'mediactl sync'];
export const ffmpeg = 'ffmpeg -i in.mov -f mp4 - | mediactl upload - --name NAME';
export const trim = 'ffmpeg -ss 10 -t 60 -i in.mp4 -c copy out.mp4; mediactl upload out.mp4';
export const noReplacing = 'the API cannot replace the file of an asset';
export const noEmbedCode = 'the API has no embed code';
export const noCopy = 'the API cannot copy an asset';
export const noChecksum = 'the API lists no checksums';
export const allColumns = 'apply needs all columns of the table';
export const renames = 'mediactl export /FOLDER names.csv; edit the column name; mediactl apply names.csv';
export const noEmptyFolders = 'no command lists empty folders';
export const findEmptyFolders =
  'mediactl folders ls -r, for all folders; mediactl stats --by folder, for those that have assets';
export const noVisibility = 'the API has no public or private assets; each playback URL is signed';

const files: readonly ForeignWord[] = [
  { words: 'list ll dir lsl', use: 'mediactl ls' },
  { words: 'lsf', use: "mediactl ls /FOLDER --jq '.[].name'" },
  { words: 'lsjson', use: 'mediactl ls --json' },
  { words: 'lsd collections collection directories', use: 'mediactl folders ls' },
  { words: 'library media files file', use: 'mediactl ls, or mediactl browse' },
  { words: 'find grep locate filter query', use: 'mediactl search WORDS; mediactl ls --status ready --tag TAG' },
  { words: 'sort order', use: 'mediactl ls --sort name' },
  { words: 'head tail recent latest last', use: 'mediactl ls --limit 5; mediactl get @last, for the last upload' },
  { words: 'count', use: 'mediactl ls --count' },
  {
    words: 'show view info input-info inspect describe stat details properties record metadata',
    use: 'mediactl get ID',
  },
  {
    words: 'ffprobe mediainfo exif exiftool',
    cannot: 'the API shows no codec and no frame rate',
    use: 'ffprobe "$(mediactl play ID --url)"; mediactl get ID, for its length',
  },
  { words: 'probe', use: 'mediactl play ID --probe' },
  { words: 'cat more less', use: 'mediactl download ID -o -; mediactl get ID, for its record' },
  {
    words: 'upload_dir upload-dir migrate put push send ingest add mput post insert',
    use: 'mediactl upload PATH /FOLDER',
  },
  { words: 'rcat', use: 'mediactl upload - --name NAME' },
  { words: 's3 gs b2', use: 'mediactl upload rclone:REMOTE:PATH /FOLDER, to copy from a bucket' },
  {
    words: 'rclone aws gsutil',
    use: 'mediactl sync DIR /FOLDER; mediactl upload rclone:REMOTE:PATH /FOLDER, to copy from a remote of rclone',
  },
  { words: 'copyurl', use: 'mediactl upload https://example.com/clip.mp4' },
  {
    words: 'cp copy copyto scp sftp ftp',
    use: 'mediactl upload PATH /FOLDER; mediactl download ID -d DIR, the other way',
  },
  { words: 's3api admin resources', use: 'mediactl ls; mediactl api /assets/, for a request of your own' },
  { words: 'release releases gist upload_large direct-uploads', use: 'mediactl upload FILE /FOLDER' },
  { words: 'checkout', use: 'mediactl download ID; mediactl auth switch NAME, for another account' },
  { words: 'commit', use: 'leave it out: each change is written at once; mediactl history, to see them' },
  { words: 'import', use: 'mediactl apply FILE, for an edited table; mediactl upload PATH, for files' },
  { words: 'create new', use: 'mediactl upload PATH; mediactl folders create /FOLDER, for a folder' },
  { words: 'touch', cannot: 'the API cannot create an empty asset or set a date', use: 'mediactl upload FILE' },
  { words: 'fetch', use: 'mediactl download ID; mediactl upload https://example.com/clip.mp4, from a URL' },
  { words: 'pull save mget wget dl yt-dlp', use: 'mediactl download ID' },
  {
    words: 'backup dump',
    use: 'mediactl download /FOLDER -d DIR; mediactl export library.csv, for names and tags',
  },
  { words: 'zip tar', cannot: 'the API cannot pack files', use: 'mediactl download /FOLDER -d DIR' },
  { words: 'spreadsheet excel xlsx xls csv table', use: 'mediactl export library.csv' },
  { words: 'bisync mirror rsync', use: 'mediactl sync DIR /FOLDER, which goes one way' },
  { words: 'diff compare cmp verify cryptcheck', use: 'mediactl check DIR /FOLDER' },
  {
    words: 'hashsum md5sum sha1sum sha256sum b3sum md5 sha256 checksum hash',
    cannot: noChecksum,
    use: 'mediactl check FILE /FOLDER, which compares a file with a folder',
  },
  { words: 'audit', use: 'mediactl history, for changes; mediactl check DIR /FOLDER, for files' },
  {
    words: 'duplicate clone ln',
    cannot: noCopy,
    use: 'mediactl download ID -o FILE; mediactl upload FILE --existing upload',
  },
  { words: 'move moveto', use: 'mediactl mv ID /FOLDER' },
  { words: 'archive', use: 'mediactl mv ID /Archive' },
  { words: 'ren', use: 'mediactl rename ID NAME' },
  { words: 'edit modify change patch annotate', use: 'mediactl update ID --name NAME' },
  { words: 'title', use: 'mediactl rename ID NAME' },
  { words: 'description', use: 'mediactl update ID --description TEXT' },
  { words: 'set', use: 'mediactl update ID --set KEY=VALUE; mediactl config set KEY VALUE, for a setting' },
  { words: 'replace overwrite swap', cannot: noReplacing, use: 'mediactl upload FILE /FOLDER, as a new asset' },
  { words: 'mkdir md mb newfolder new-folder', use: 'mediactl folders create /FOLDER' },
  { words: 'tree', use: 'mediactl folders tree' },
  { words: 'cd chdir', use: 'mediactl config set folder /FOLDER, for uploads; mediactl ls /FOLDER' },
  { words: 'pwd', use: 'mediactl config get folder' },
  { words: 'tags labels label', use: 'mediactl stats --by tag; mediactl tag ID --add TAG' },
  {
    words: 'favorite favourite favorites star like pin bookmark',
    cannot: 'the API has no favorites',
    use: 'mediactl tag ID --add favorite',
  },
  { words: 'albums album', use: 'mediactl folders ls; mediactl tag ID --add TAG' },
  { words: 'untag unlabel', use: 'mediactl tag ID --remove TAG' },
  {
    words: 'playlists playlist series channels channel',
    cannot: 'the API has no playlists',
    use: 'mediactl folders create /FOLDER; mediactl tag ID --add TAG',
  },
  {
    words: 'delete del remove unlink erase destroy deletefile trash',
    use: 'mediactl rm ID, which moves it to the trash; the API cannot restore it',
  },
  { words: 'rmdir rmdirs rd rb', use: 'mediactl folders rm /FOLDER; mediactl rm -r /FOLDER, with everything in it' },
  { words: 'purge', use: 'mediactl rm -r /FOLDER' },
  {
    words: 'restore undelete untrash unrm recover',
    cannot: 'the API cannot restore what is in the trash',
    use: 'mediactl undo, which reverts other changes',
  },
  {
    words: 'empty empty-trash',
    cannot: 'the API cannot list or empty the trash',
    use: 'leave it to the service',
  },
  { words: 'revert rollback reset', use: 'mediactl undo' },
  { words: 'redo', use: 'mediactl undo CHANGE, with the id of the undo; mediactl history, to find it' },
  { words: 'changes changelog activity log', use: 'mediactl history; mediactl sandbox logs' },
  { words: 'logs', use: 'mediactl sandbox logs' },
];

const playing: readonly ForeignWord[] = [
  {
    words: 'link url urls presign sign stream publiclink playback playback-ids playback-id',
    use: 'mediactl share ID, for a URL that works for some hours',
  },
  { words: 'publish public unlist', cannot: noVisibility, use: 'mediactl share ID' },
  {
    words: 'unpublish private acl permissions visibility chmod chown',
    cannot: noVisibility,
    use: 'mediactl embed restrict, to choose the sites that may embed',
  },
  { words: 'player', use: 'mediactl assets player-data ID' },
  { words: 'iframe embed-code', cannot: noEmbedCode, use: 'mediactl assets player-data ID' },
  { words: 'domains allowlist whitelist referrers hotlink', use: 'mediactl embed domains ls' },
  { words: 'playback-restrictions restrict', use: 'mediactl embed restrict; mediactl embed domains ls' },
  { words: 'unrestrict', use: 'mediactl embed unrestrict' },
  { words: 'preview quicklook', use: 'mediactl open ID' },
  { words: 'mpv ffplay vlc', use: 'mpv "$(mediactl play ID --url)"' },
  {
    words: 'watch',
    use: 'mediactl open ID, to play; mediactl wait ID; mediactl sync DIR /FOLDER --watch, for a directory',
  },
  {
    words: 'thumb thumbnail thumbnails poster frame screenshot cover image',
    use: 'mediactl assets thumb ID -o FILE',
  },
  {
    words: 'set-thumbnail set-poster',
    cannot: 'the API cannot set a thumbnail',
    use: 'mediactl assets thumb ID -o FILE, for the one that the asset has',
  },
  {
    words: 'subtitles subtitle captions caption tracks transcript transcribe transcription chapters',
    cannot: 'the API cannot add subtitles or chapters',
    use: 'mediactl play ID --json, for those that the asset has',
  },
  {
    words: 'transcode encode convert compress ffmpeg render reencode renditions static-renditions',
    cannot: 'the service chooses how it encodes',
    use: ffmpeg,
  },
  { words: 'trim clip cut split', cannot: 'the API cannot trim an asset', use: trim },
  {
    words: 'concat merge join',
    cannot: 'the API cannot join assets',
    use: 'ffmpeg -f concat -i list.txt -c copy out.mp4; mediactl upload out.mp4',
  },
  {
    words: 'live live-streams livestream livestreams broadcast stream-keys simulcast',
    cannot: 'the API has no live streams',
    use: 'mediactl upload FILE, for a recording',
  },
  {
    words: 'webhooks webhook hooks events notify subscribe',
    cannot: 'the API has no webhooks',
    use: 'mediactl wait ID, or mediactl upload FILE --wait',
  },
  {
    words: 'mount nfsmount umount unmount',
    cannot: 'the library cannot be mounted as a disk',
    use: 'mediactl browse',
  },
  { words: 'gui ui web dashboard gallery explorer', use: 'mediactl browse' },
  {
    words: 'cache invalidate pull-zone',
    cannot: 'the API shows no cache',
    use: 'leave it to the service',
  },
  {
    words: 'request-upload upload-link file-request dropbox',
    cannot: 'the API has no links for uploading',
    use: 'mediactl upload PATH, with a key of your own',
  },
  { words: 'serve', use: 'mediactl browse; mediactl sandbox start, for a service of your own' },
];

const account: readonly ForeignWord[] = [
  { words: 'du df size ncdu statistics summary report', use: 'mediactl stats' },
  {
    words: 'usage quota storage billing credits',
    cannot: 'the API shows no quota, credits or traffic',
    use: 'mediactl stats',
  },
  {
    words: 'metrics analytics views video-views delivery-usage dimensions heatmap monitoring',
    cannot: 'the API has no analytics',
    use: 'mediactl stats',
  },
  { words: 'dupes duplicates dedupe dedup', use: 'mediactl stats --duplicates' },
  { words: 'login-key signin sign-in logon authorize authenticate connect', use: 'mediactl login' },
  { words: 'signout sign-out logoff', use: 'mediactl logout' },
  { words: 'init setup', use: 'mediactl login; mediactl sandbox start, to try it without an account' },
  { words: 'configure settings preferences', use: 'mediactl config ls; mediactl login, for an account' },
  { words: 'me user id account about sts', use: 'mediactl whoami' },
  { words: 'status state', use: 'mediactl whoami; mediactl uploads ls, for unfinished uploads' },
  { words: 'profile profiles accounts env environments remote remotes listremotes', use: 'mediactl auth ls' },
  { words: 'switch use', use: 'mediactl auth switch NAME; mediactl workspaces use NAME' },
  { words: 'org orgs organizations team teams project projects repo bucket buckets', use: 'mediactl workspaces ls' },
  {
    words: 'key keys api-key api-keys token tokens secret secrets signing-keys',
    cannot: 'API keys are created in the settings of your organization',
    use: 'mediactl login, to save one',
  },
  { words: 'resume continue', use: 'mediactl uploads resume --all' },
  { words: 'retry', use: 'mediactl uploads resume --all; mediactl queue retry --all, for a queue' },
  { words: 'pause cancel abort kill', use: 'Ctrl-C where it runs; the same command again resumes it' },
  { words: 'pending jobs tasks ps', use: 'mediactl uploads ls; mediactl queue ls' },
  { words: 'enqueue', use: 'mediactl upload PATH --queue redis://HOST' },
  { words: 'worker workers work agent daemon', use: 'mediactl queue work' },
  { words: 'cleanup gc', use: 'mediactl uploads cleanup, which lists incomplete assets' },
  { words: 'start demo', use: 'mediactl sandbox start' },
  { words: 'stop', use: 'mediactl sandbox stop' },
  { words: 'server-info ping health test diagnose debug', use: 'mediactl doctor' },
  { words: 'curl request http rest graphql', use: 'mediactl api /assets/' },
  { words: 'completions autocomplete', use: 'mediactl completion install' },
  { words: 'version', use: 'mediactl --version' },
  { words: 'upgrade selfupdate self-update', use: 'install it again, in the same way as before' },
  { words: 'uninstall', use: 'npm uninstall --global mediactl' },
  { words: 'git gh mux bunny immich cloudinary cld', use: 'leave it out; mediactl help, to list the commands' },
  { words: 'man docs manual topics', use: 'mediactl help' },
  { words: 'exitcodes codes', use: 'mediactl help exit-codes' },
  {
    words: 'limits limit rate-limit ratelimit rate_limit',
    use: 'mediactl whoami, which shows the requests that remain',
  },
  {
    words: 'alias extension extensions plugin plugins',
    cannot: 'mediactl has no extensions',
    use: 'an alias of your shell',
  },
  { words: 'schema', use: 'mediactl commands NAME --json, which has the JSON Schema of the result' },
];

/** Words after a noun. */
const verbs: readonly ForeignWord[] = [
  { after: ['assets', 'videos'], words: 'upload add create new put', use: 'mediactl upload PATH' },
  { after: ['assets', 'videos'], words: 'search find', use: 'mediactl search WORDS' },
  { after: ['assets', 'videos'], words: 'play', use: 'mediactl play ID' },
  { after: ['assets', 'videos'], words: 'open watch', use: 'mediactl open ID' },
  { after: ['assets', 'videos'], words: 'share url', use: 'mediactl play ID --url, or mediactl share ID' },
  { after: ['folders'], words: 'mkdir md new add make', use: 'mediactl folders create /FOLDER' },
  { after: ['folders'], words: 'show get view info', use: 'mediactl ls /FOLDER' },
  { after: ['folders'], words: 'move', use: 'mediactl folders mv /FOLDER /PARENT' },
  { after: ['folders'], words: 'upload', use: 'mediactl upload PATH /FOLDER' },
  { after: ['folders'], words: 'download', use: 'mediactl download /FOLDER -d DIR' },
  { after: ['folders'], words: 'stats size du', use: 'mediactl stats /FOLDER' },
  {
    after: ['folders'],
    words: 'share link',
    cannot: 'the API has no URL of a folder',
    use: 'mediactl share ID, for one asset',
  },
  { after: ['folders'], words: 'remove del rmdir purge', use: 'mediactl folders rm /FOLDER; mediactl rm -r /FOLDER' },
  { after: ['uploads'], words: 'create new add start', use: 'mediactl upload PATH' },
  { after: ['uploads'], words: 'status show get view', use: 'mediactl uploads ls' },
  { after: ['folders'], words: 'prune cleanup', cannot: noEmptyFolders, use: findEmptyFolders },
  { after: ['uploads'], words: 'continue restart', use: 'mediactl uploads resume --all' },
  { after: ['uploads'], words: 'pause cancel abort', use: 'Ctrl-C where it runs; mediactl uploads resume --all' },
  { after: ['uploads'], words: 'gc clean', use: 'mediactl uploads cleanup' },
  { after: ['uploads'], words: 'rm delete remove del', use: 'mediactl uploads forget UPLOAD' },
  {
    after: ['uploads'],
    words: 'export',
    use: 'mediactl uploads ls --finished --jsonl, to list the finished uploads',
  },
  {
    after: ['uploads'],
    words: 'import',
    use: 'mediactl check DIR /FOLDER --download, to find what the folder has already',
  },
  { after: ['uploads'], words: 'watch', use: 'mediactl queue watch' },
  {
    after: ['workspaces'],
    words: 'create new add rm delete remove rename',
    cannot: 'the API cannot create, rename or delete a workspace',
    use: 'mediactl workspaces ls',
  },
  { after: ['workspaces'], words: 'switch select set default', use: 'mediactl workspaces use NAME' },
  { after: ['workspaces'], words: 'get show current', use: 'mediactl config get workspace' },
  { after: ['auth'], words: 'profiles list-profiles', use: 'mediactl auth ls' },
  { after: ['auth'], words: 'use select activate', use: 'mediactl auth switch NAME' },
  { after: ['auth'], words: 'signin add create refresh', use: 'mediactl auth login' },
  { after: ['auth'], words: 'rotate renew', use: 'mediactl login --profile NAME, with the new key' },
  { after: ['auth'], words: 'show whoami', use: 'mediactl auth status' },
  { after: ['auth'], words: 'key show-token', use: 'mediactl auth token --show-token' },
  { after: ['auth'], words: 'rm remove delete signout', use: 'mediactl auth logout NAME' },
  { after: ['config'], words: 'show view cat', use: 'mediactl config ls' },
  { after: ['config'], words: 'edit add put', use: 'mediactl config set KEY VALUE' },
  { after: ['config'], words: 'file where', use: 'mediactl config path' },
  { after: ['config'], words: 'create init', use: 'mediactl login' },
  { after: ['config'], words: 'rm remove delete clear', use: 'mediactl config unset KEY' },
  { after: ['queue'], words: 'add push create enqueue', use: 'mediactl upload PATH --queue redis://HOST' },
  { after: ['queue'], words: 'status show info stats', use: 'mediactl queue ls' },
  { after: ['queue'], words: 'start run worker', use: 'mediactl queue work' },
  { after: ['queue'], words: 'resume', use: 'mediactl queue retry --all' },
  { after: ['queue'], words: 'rm remove delete del', use: 'mediactl queue forget ID' },
  {
    after: ['embed'],
    words: 'enable disable on off',
    use: 'mediactl embed restrict, to the domains of the list; mediactl embed unrestrict, for every domain',
  },
  { after: ['embed'], words: 'add allow', use: 'mediactl embed domains add www.example.com' },
  { after: ['embed'], words: 'status info ls list', use: 'mediactl embed show' },
  { after: ['embed'], words: 'rm remove delete', use: 'mediactl embed domains rm www.example.com' },
  { after: ['embed domains'], words: 'create new allow put', use: 'mediactl embed domains add www.example.com' },
  { after: ['embed domains'], words: 'import set apply', use: 'mediactl embed domains sync FILE' },
  { after: ['embed domains'], words: 'export show get', use: 'mediactl embed domains ls' },
  { after: ['embed domains'], words: 'remove del', use: 'mediactl embed domains rm www.example.com' },
  { after: ['sandbox'], words: 'run up serve create new init', use: 'mediactl sandbox start' },
  { after: ['sandbox'], words: 'down kill', use: 'mediactl sandbox stop' },
  { after: ['sandbox'], words: 'restart', use: 'mediactl sandbox stop; mediactl sandbox start' },
  { after: ['sandbox'], words: 'info ps ls list', use: 'mediactl sandbox status' },
  { after: ['sandbox'], words: 'open watch view play', use: 'mediactl open ID' },
  { after: ['sandbox'], words: 'rm remove delete destroy purge', use: 'mediactl sandbox reset' },
];

/** Commands of other programs. If several rows have a word, the first one that applies decides. */
export const foreignCommands: readonly ForeignWord[] = [verbs, files, playing, account].flat();
