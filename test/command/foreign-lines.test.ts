import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { fixturePath, forSandboxMode, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Whole lines of other tools and first guesses, typed where the files that they name exist. */

let sandbox: TestSandbox;
let cli: Cli;
const home = process.cwd();

beforeAll(async () => {
  sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  cli = new Cli({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });
  for (const folder of ['/List', '/Y']) await cli.run(['folders', 'create', folder]);
  await cli.run(['upload', fixturePath('clip.mp4'), '--wait']);
  const directory = temporaryFolder();
  for (const name of ['in', 'Desktop']) mkdirSync(`${directory}/${name}`);
  for (const name of ['F.mp4', 'my clip.mp4', 'a.mp4', 'b.mp4', 'in/c.mp4', 'l.vtt', 'names.csv'])
    writeFileSync(`${directory}/${name}`, `content of ${name}`);
  process.chdir(directory); // the lines name files of the current directory
});
afterAll(() => {
  process.chdir(home);
  return sandbox.end();
});

/** Lines, and what the program has to say: a part of stdout or stderr. */
const lines: [line: string, told: string][] = [
  // Met when people tried the program
  ['cp -r ./in /Y', 'mediactl upload ./in /Y'],
  ['upload F.mp4 --dry-run', 'dry run: 1 file'],
  ['ls --limit 5 -o json', '--format json'],
  ['get clip.mp4 --output json', '--format json'],
  ['files', 'mediactl ls, or mediactl browse'],
  ['media', 'mediactl ls, or mediactl browse'],
  ['title', 'mediactl rename ID NAME'],
  ['exitcodes', 'mediactl help exit-codes'],
  ['folders du', 'mediactl stats /FOLDER'],
  ['folders share', 'mediactl share ID'],
  ['rm -rf /F', 'leave it out: what goes is listed first'],
  ['upload . /Y -n', 'dry run: 7 files'],
  ['upload -r in', 'leave it out: a directory includes'],
  ['sync in /F --delete', '--prune'],
  // What upload had until sync was a command of its own
  ['upload --sync in /Y --prune', 'mediactl sync in /Y --prune'],
  ['upload in /Y --watch --move-to ../done', 'mediactl sync in /Y --watch --move-to ../done'],
  ['upload a.mp4 --log-format json', 'mediactl sync a.mp4 --log-format json'],
  ['update clip.mp4 --add-tag sea', 'mediactl tag clip.mp4 --add sea'],
  ['videos update clip.mp4 --remove-tag=sea', 'mediactl tag clip.mp4 --remove sea'],
  ['update clip.mp4 --name N --add-tag sea', 'mediactl tag ID --add TAG'],
  ['sandbox open @last', 'mediactl open @last'],
  ['ls --tsv', '--format tsv'],
  ['sandbox start --scoped-profiles', 'mediactl login --profile NAME --with-key'],
  ['history -n 3', "mediactl history --jq '.[:3]'"],
  ['check in /Y -n', 'changes nothing, so it has no --dry-run'],
  ['download clip.mp4 .', '-d .'],
  ['download clip.mp4 out.mp4', '-o out.mp4'],
  ['download clip.mp4 -O f', '-o FILE'],
  ['ls -R', 'did you mean -r?'],
  ['ls -h', 'Usage: mediactl ls [words...] [options]'],
  ['help sync', 'Usage: mediactl sync <directory> [folder] [options]'],
  ['wait --all', 'leave it out: wait without an ID waits for all'],
  ['--list', 'mediactl --help'],
  ['assets', 'Usage: mediactl assets COMMAND'],
  ['asset list', 'did you mean assets?'],
  ['videos list', 'clip.mp4'],
  ['assets create --url https://example.com/a.mp4', 'mediactl upload PATH'],
  ['api -X GET', "missing required argument 'path'"],
  ['api --paginate', "missing required argument 'path'"],
  ['search *.mov', "quote a glob, such as '/*.mp4'"],
  ['ls --tag a,b', 'give one of them'],
  ["ls --format '{{.name}}'", '--jq'],
  ['ls --format yaml', 'use one of table, json'],
  ['uplaod', 'did you mean upload?'],
  ['serach', 'did you mean search?'],
  ['lgoin', 'did you mean login?'],
  ['upload -i F.mp4', 'mediactl upload FILE'],
  ['uploader upload', 'did you mean upload'],
  ['folder create', 'did you mean folders?'],
  ['folders create Press2 -n', 'POST'],
  ['share /F', forSandboxMode({ normal: 'no asset or folder at /F', strict: 'cannot be found by path or folder' })],
  ['open', '@last (the last upload)'],
  ['browse /F', 'mediactl folders tree'],
  ['update', '--name, --description'],
  ['ls --since 7d', '--created-after DATE'],
  ['ls -lt', 'the newest come first'],
  ['ls -S', 'sorts by name and dates only'],
  ['rm --all', "mediactl rm '/FOLDER/*'"],
  ['upload F.mp4 --no-wait', 'leave it out: only --wait waits'],
  ['upload F.mp4 as G', 'mediactl upload FILE --name G'],
  ['sync -avz in /Y', 'leave it out: subdirectories'],
  ['sync in s3://b/y', 'rclone sync DIR REMOTE:PATH'],
  ['s3api list-objects', 'mediactl ls'],
  ['release upload v1 F.mp4', 'mediactl upload FILE'],
  ['auth login --web', 'asks for an API key'],
  ['auth login -h HOST', '--base-url'],
  ['api GET /assets/', 'mediactl api /assets/ -X GET'],
  ['-p acme ls', '--profile NAME'],
  ['ls -o wide', '--json, which has every field'],
  ['ls --taggs x', '--tag TAG'],
  ['upload -F file=@F.mp4', 'mediactl upload FILE'],
  ['upload -T F.mp4', 'mediactl upload FILE'],
  ['download -f best clip.mp4', 'the original file is downloaded'],
  ['favorite clip.mp4', '--add favorite'],
  ['albums', 'mediactl folders ls'],
  ['upload F.mp4 --album A', '--folder FOLDER'],
  ['admin resources', 'mediactl ls'],
  ['cache purge', 'the API shows no cache'],
  ['scp F.mp4 host:/y', 'mediactl upload PATH /FOLDER'],
  ['checkout clip.mp4', 'mediactl download ID'],
  ['wait clip.mp4 --until ready', '--for STATUS'],
  ['rename clip.mp4 to Y', 'mediactl rename clip.mp4 Y'],
  ['export -f csv', '--format csv'],
  ['apply -f names.csv', 'mediactl apply FILE'],
  ['play --vlc clip.mp4', '"$(mediactl play ID --url)"'],
  ['config set profile acme', 'mediactl auth switch acme'],
  ['config get', 'mediactl config ls'],
  ['doctor --fix', 'doctor changes nothing'],
  ['uninstall', 'npm uninstall --global mediactl'],
  ['redo', 'mediactl undo CHANGE'],
  ['embed clip.mp4 --width 640', 'the API has no embed code'],
  ['stats --limit 3', 'stats counts all'],
  ['ls -1', "-q, for the uids alone; --jq '.[].name'"],
  ['ls -n 5', 'mediactl ls --limit 5'],
  ['search tag:x', 'mediactl ls --tag x'],
  ['ls ./', 'mediactl ls /, for the top level'],
  ['mv ./F.mp4 /List', 'mediactl upload ./F.mp4 /List'],
  ['upload F.mp4 List/', 'mediactl upload PATH /List'],
  ['upload F.mp4 to /List', 'mediactl upload PATH /List'],
  ['download all', 'mediactl download / -d DIR'],
  ['get clip.mp4 -o f', 'mediactl download ID -o FILE'],
  ['wait clip.mp4 60', '--timeout 60s'],
  ['share clip.mp4 --qr', 'qrencode -t ANSI'],
  ['open .', 'mediactl browse /'],
  ['undo 2', 'at least 6 digits'],
  // Of manuals: rclone
  ['copy ./in remote:', 'mediactl upload PATH /FOLDER'],
  ['sync ./in remote:path', '--profile NAME'],
  ['lsf /List', 'mediactl ls /FOLDER'],
  ['size /List', 'mediactl stats'],
  ['purge /List', 'mediactl rm -r /FOLDER'],
  ['moveto a b', 'mediactl mv ID /FOLDER'],
  ['mount /mnt', 'cannot be mounted'],
  ['sync in /List --max-age 24h', '--files-from'],
  ['sync in /List --bwlimit 1M', '--limit-rate RATE'],
  ["ls --include '*.mp4'", "mediactl ls '/FOLDER/*.mp4'"],
  ['sync in /Y -P', 'progress is shown'],
  // aws
  ['s3 ls', 'mediactl ls /FOLDER'],
  ['s3 cp F.mp4 s3://b/', 'mediactl upload PATH /FOLDER'],
  ['s3 cp s3://b/x .', 'mediactl download /FOLDER -d DIR'],
  ['s3 sync . s3://b', 'mediactl sync DIR /FOLDER'],
  ['s3 rm s3://b/k', 'mediactl rm ID'],
  ['s3 presign s3://b/k', 'mediactl share ID'],
  ['s3 mb s3://b', 'mediactl folders create /FOLDER'],
  ['configure', 'mediactl login'],
  ['ls --page-size 10', '--limit NUMBER'],
  // gh and git
  ['release list', 'mediactl ls /FOLDER'],
  ['repo list', 'mediactl workspaces ls'],
  ['ls -L 5', '--limit NUMBER'],
  ['ls --json name,uid', '--fields name,uid'],
  ["ls -q '.[].name'", "--jq '.[].name'"],
  ['get clip.mp4 --web', 'mediactl open ID'],
  ['auth refresh', 'mediactl auth login'],
  ['log', 'mediactl history'],
  ['status', 'mediactl whoami'],
  ['diff', 'mediactl check DIR /FOLDER'],
  ['push', 'mediactl upload PATH'],
  ['pull', 'mediactl download ID'],
  ['revert', 'mediactl undo'],
  ['rm --cached clip.mp4', 'files of this machine stay'],
  // Mux, Bunny, Cloudinary, Immich
  ['assets create --upload F.mp4', 'mediactl upload PATH'],
  ['assets playback-ids create X', 'mediactl share ID'],
  ['live-streams create', 'the API has no live streams'],
  ['webhooks listen', 'the API has no webhooks'],
  ['signing-keys create', 'API keys are created in'],
  ['assets update clip.mp4 --passthrough p', '--set KEY=VALUE'],
  ['video-views list', 'the API has no analytics'],
  ['collections', 'mediactl folders ls'],
  ['videos upload F.mp4', 'mediactl upload PATH'],
  ['sync --push . folder', 'mediactl sync DIR /FOLDER'],
  ['upload_dir in', 'mediactl upload PATH /FOLDER'],
  ['migrate x', 'mediactl upload PATH /FOLDER'],
  ['login-key https://x KEY', 'mediactl login'],
  ['upload --album-name A in', '--folder FOLDER'],
  ['upload -H in', 'is not read again'],
  ['server-info', 'mediactl doctor'],
  ['upload F.mp4 --delete', '--move-to DONE'],
  // ls, cp, mv, rsync, curl
  ['ls -d', 'mediactl folders ls'],
  ['ls -a', '--all'],
  ['ls --color', 'NO_COLOR=1'],
  ['cp F.mp4 /List/', 'mediactl upload F.mp4 /List/'],
  ['mv -t /List clip.mp4', 'mediactl mv ID /FOLDER'],
  ['mv a.mp4 b.mp4 /List', 'mediactl upload a.mp4 /List'],
  ['rsync -a in /Y', 'mediactl sync DIR /FOLDER'],
  ['sync --exclude-from x in /Y', '--exclude GLOB'],
  ['sync --progress in /Y', 'leave --progress out'],
  ['curl -F file=@F.mp4', 'mediactl upload FILE'],
  ["api -X POST -d '{}' /assets/", '--input'],
  ['cat F.mp4', 'mediactl download ID -o -'],
  // ffmpeg and yt-dlp
  ['upload F.mp4 -c:v libx264', 'the service chooses how it encodes'],
  ['upload F.mp4 -ss 10', 'the API cannot trim an asset'],
  ['ffmpeg -i F.mp4', 'the service chooses how it encodes'],
  ['concat a b', 'the API cannot join assets'],
  ['thumbnail clip.mp4', 'mediactl assets thumb ID -o FILE'],
  ['download -x clip.mp4', 'mediactl does not convert'],
  ['download --write-subs clip.mp4', 'mediactl play ID --json'],
  ['download -F clip.mp4', 'the original file is downloaded'],
  ['download -a list.txt', 'mediactl download - < FILE'],
  // Typed by somebody who did not know the tables
  ["search '*.mkv'", "mediactl ls '/**/*.mp4'"],
  ['ls acme:', 'mediactl ls --profile acme'],
  ['ls -lart', '--sort created_at'],
  ['rclone copy in remote:Y', 'mediactl sync DIR /FOLDER'],
  ['sync in /Y --progress', 'leave --progress out'],
  ["sync in /Y --include '*.mp4' --exclude '*'", "leave --exclude '*' out"],
  ['rm Y/', 'mediactl rm /Y'],
  ['mv Y/ /List', 'mediactl mv /Y /List'],
  ['ls --no-paginate', 'only --all lists more than a page'],
  ['ls --web', 'mediactl browse'],
  ['browse --web', 'leave it out'],
  ['release download v1', 'mediactl download ID -d DIR'],
  ['gist create F.mp4', 'mediactl upload FILE'],
  ['git push', 'leave it out'],
  ['reset --hard', 'mediactl undo'],
  ['tag -d sea', 'mediactl tag ID --remove sea'],
  ['tag -l', 'mediactl stats --by tag'],
  ['upload -A Album in', '--folder FOLDER'],
  ["api /assets/ -q '.items[].name'", '--jq'],
  ['login --email a@b.c', 'the API knows keys, not users'],
  ['assets input-info clip.mp4', 'mediactl get ID'],
  ['videos set-thumbnail clip.mp4 x.jpg', 'the API cannot set a thumbnail'],
  ['storage upload F.mp4 zone/x', 'mediactl upload FILE'],
  ['uploader destroy x', 'mediactl rm ID'],
  ['remote -v', 'mediactl auth ls'],
  ['sts get-caller-identity', 'mediactl whoami'],
  // First guesses at tasks
  ['upload F.mp4 --move', '--move-to DONE'],
  ['sync in /Y --remove-source', 'mediactl sync in /Y --move-to ./uploaded'],
  ['uploads retry', 'mediactl uploads resume --all'],
  ['sync in /Y --log-file x.log', '2>> run.log'],
  ['share clip.mp4 --password p', 'no links with a password'],
  ['stats clip.mp4', 'the API has no analytics'],
  ['upload l.vtt --to lesson.mp4', 'the API cannot add subtitles'],
  ['download --tag final Desktop', 'no assets match the filters'],
  ['sync in Y', 'mediactl sync in /Y'],
  ['auth rotate', 'mediactl login --profile NAME'],
  ['exit-codes', 'docs/errors.md'],
  ['options', '--profile <name>'],
  ['limits', 'mediactl whoami'],
  ['share clip.mp4 --copy', 'mediactl share clip.mp4 | pbcopy'],
  ['share clip.mp4 @last', forSandboxMode({ normal: '127.0.0.1', strict: 'does not show the workspace' })],
  ['play A B', 'mediactl share A B'],
  ['share clip.mp4 --probe', 'mediactl play ID --probe'],
  ['stats --by folder', forSandboxMode({ normal: 'folder\t/', strict: 'the list does not show folders' })],
  ['stats --tags', '--by tag'],
  ['ls --no-description', '.description'],
  ['check F.mp4', 'mediactl upload F.mp4 /FOLDER'],
  ['check in /Y --missing', 'leave it out'],
  ['tags rename sumer summer', 'mediactl tag --tag sumer --add summer --remove sumer'],
  ["rename '/List/*' s/a/b/", "mediactl export '/List/*' names.csv"],
  ["mv 'shot_*' 'ACME_*'", 'mediactl apply names.csv'],
  ['embed reel1.mp4', 'the API has no embed code'],
  ['history --since 7d', 'the changes of this machine only'],
  ['rm --duplicates', 'mediactl stats --duplicates'],
  ['login acme --base-url https://x.example.com', 'mediactl --profile acme auth login'],
  ['login x.example.com', 'mediactl login --base-url x.example.com'],
  ['cp acme:/S globex:/S', 'no command copies from one account to another'],
  ['request-upload', 'no links for uploading'],
  ['upload --name n /CI', 'mediactl upload - /CI --name NAME'],
];

const typed = (line: string) => (line.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) => word.replaceAll("'", ''));

it.each(lines)('the line "mediactl %s" does what it says, or tells what to type', async (line, told) => {
  const words = typed(line).flatMap((word) => (word === '*.mov' ? ['a.mp4', 'b.mp4'] : [word])); // as a shell does
  const { stdout, stderr } = await cli.run(words);
  expect(stdout + stderr).toContain(told);
  const deletes = /\bmediactl (?:[a-z]+ )*(?:rm|forget|reset|logout)\b|--prune/;
  if (!/\b(?:rm|delete|destroy|purge|prune)\b/.test(line)) expect(stderr).not.toMatch(deletes);
});

const shaped = (condition: string) => `mediactl ls --all --jsonl --jq 'select(${condition}) | [.uid, .name] | @tsv'`;
const noShape = 'the API cannot filter by width and height';
const noDuration = 'the API cannot filter by duration';
const noSize = 'the API cannot filter by size';
const largerThan = (size: string) =>
  `mediactl ls --all --jsonl --jq 'select(.size and .size ${size}) | .uid', if the service shows sizes`;
const lastingMore = (seconds: string) =>
  `mediactl ls --all --jsonl --jq 'select(.duration and .duration ${seconds}) | .uid'`;
const emptyFolders = 'mediactl folders ls -r, for all folders; mediactl stats --by folder, for those that have assets';
const noEmptyFolders = 'no command lists empty folders';
const noFolder = 'a folder is a path such as /Archive, or a uid';
const renames = 'mediactl export /FOLDER names.csv; edit the column name; mediactl apply names.csv';
const noAnalytics = 'the API has no analytics';

/** First guesses, the whole of what the error says to type, and its cause if it has one. */
const pointers: [line: string, next: string, cause?: string][] = [
  // The word that looks like an asset is the asset
  ['tag reel1.mp4 summer', 'mediactl tag reel1.mp4 --add summer'],
  ['tag summer reel1.mp4', 'mediactl tag reel1.mp4 --add summer'],
  ['tag /Y/intro summer', 'mediactl tag /Y/intro --add summer'],
  ['tag @last summer', 'mediactl tag @last --add summer'],
  ['tag summer 898a7219-0528-4f2f-b60a-0b0b6687ea22', 'mediactl tag 898a7219-0528-4f2f-b60a-0b0b6687ea22 --add summer'],
  ["tag 'my clip.mp4' b.mp4 summer", "mediactl tag 'my clip.mp4' b.mp4 --add summer"],
  ['tag a.mp4 summer sea', 'mediactl tag a.mp4 --add summer,sea'],
  ['tag a.mp4 b.mp4', 'mediactl tag a.mp4 b.mp4 --add TAG'],
  ['tag clip press', 'mediactl tag clip --add press, if clip is the asset'],
  ['tag add summer reel1.mp4', 'mediactl tag reel1.mp4 --add summer'],
  ['tag add reel1.mp4 summer', 'mediactl tag reel1.mp4 --add summer'],
  ['tag remove reel1.mp4 finale', 'mediactl tag reel1.mp4 --remove finale'],
  ['tag rm finale reel1.mp4', 'mediactl tag reel1.mp4 --remove finale'],
  ['tag delete finale', 'mediactl tag --tag finale --remove finale, for all assets that have it'],
  ['tag rename sumer summer', 'mediactl tag --tag sumer --add summer --remove sumer'],
  ['tag clip.mp4 +a -b', 'mediactl tag clip.mp4 --add a --remove b'],
  ['tag clip.mp4 -b +a', 'mediactl tag clip.mp4 --add a --remove b'],
  ['tag clip.mp4 +a', 'mediactl tag clip.mp4 --add a'],
  ['tag ls', 'mediactl stats --by tag'],
  // Names of files where a folder is meant, and the other way round
  ['upload F.mp4 /List/G.mp4', 'mediactl upload F.mp4 /List --name G.mp4', 'it looks like a file name'],
  ['upload F.mp4 /G.mp4', 'mediactl upload F.mp4 / --name G.mp4', 'it looks like a file name'],
  ['upload - /List/G.mp4', 'mediactl upload - /List --name G.mp4', 'it looks like a file name'],
  [
    'upload in /List/G.mp4',
    'folder:/List/G.mp4 to create that folder, or correct the local path',
    'it looks like a file name',
  ],
  ['mv clip.mp4 List', 'mediactl mv clip.mp4 /List', noFolder],
  ['mv clip.mp4 @last List/', 'mediactl mv clip.mp4 @last /List', noFolder],
  ['mv --tag sea List', 'mediactl mv ID... /List', noFolder],
  ['mv clip.mp4', 'mediactl mv ID... /FOLDER', noFolder],
  ['folders mv /Y List', 'mediactl folders mv /Y /List', noFolder],
  ['rename /clip.mp4 /G.mp4', 'mediactl rename /clip.mp4 G.mp4'],
  ['rename /List/A.mp4 /Y/G.mp4', 'mediactl mv /List/A.mp4 /Y; mediactl rename /Y/A.mp4 G.mp4'],
  ['rename @last /Y/G.mp4', 'mediactl mv @last /Y; mediactl rename @last G.mp4'],
  ['rename clip.mp4 /List', 'mediactl mv clip.mp4 /List'],
  [
    'rename clip.mp4 AC/DC',
    'mediactl mv clip.mp4 /FOLDER; mediactl update clip.mp4 --name AC/DC, for a name with a slash',
  ],
  ['rename /Y /Z', 'mediactl mv /Y /Z'],
  ['rename /Y /List', 'mediactl mv /Y /List, which moves it into that folder'],
  ['rename a.mp4 b.mp4 C', renames, 'a rename gives one asset or folder a name'],
  ['rename a.mp4 New name.mp4', 'mediactl rename a.mp4 "New name.mp4"', 'a name of several words needs quotes'],
  ['sync /List in', 'mediactl sync in /List; or the other way: mediactl download /List -d in'],
  ['sync /List nowhere', 'mediactl download /List -d nowhere'],
  ['sync in Y', 'mediactl sync in /Y; a folder begins with a slash'],
  ['check /List in', 'mediactl check in /List'],
  ['check /List a.mp4', 'mediactl check a.mp4 /List'],
  ['copy F.mp4 /List', 'mediactl upload F.mp4 /List'],
  ["copy 'my clip.mp4' /List", "mediactl upload 'my clip.mp4' /List"],
  ["get 'my dir/'", "mediactl get /'my dir'; a folder begins with a slash", 'it is not a uid either'],
  [
    'copy G.mp4 /List',
    'mediactl upload PATH /FOLDER, for a file of this machine; mediactl mv ID /FOLDER, to move an asset',
    'the API cannot copy an asset',
  ],
  ['mkdir -p /a/b', 'mediactl folders create -p /a/b'],
  [
    'merge /List /Y',
    'mediactl mv --folder /List /Y, for the assets of a folder; mediactl mv FOLDER /Y, for each folder in it',
    'no command joins folders or assets',
  ],
  ['update clip.mp4 --folder /List', 'mediactl mv clip.mp4 /List'],
  [
    'download https://x.example.com/y',
    'curl -OL https://x.example.com/y, to save it here; mediactl upload https://x.example.com/y, to copy it into the library',
    'a URL is no asset',
  ],
  // Features that the API does not have
  ['folders rm --empty', emptyFolders, noEmptyFolders],
  ['folders prune', emptyFolders, noEmptyFolders],
  ['ls --landscape', shaped('.width > .height'), noShape],
  ['ls --horizontal', shaped('.width > .height'), noShape],
  ['ls --portrait', shaped('.height > .width'), noShape],
  ['ls --vertical', shaped('.height > .width'), noShape],
  ['ls --orientation landscape', shaped('.width > .height'), noShape],
  ['ls --orientation portrait', shaped('.height > .width'), noShape],
  ['ls --width 1920', shaped('.width == 1920'), noShape],
  ['ls --resolution 1920x1080', shaped('.width == 1920 and .height == 1080'), noShape],
  ['ls --aspect 16:9', shaped('.width and .width * 9 == .height * 16'), noShape],
  ['ls --min-duration 10', lastingMore('> 10'), noDuration],
  ['ls --max-duration 2m', lastingMore('< 2 * 60'), noDuration],
  ['rm --shorter-than 10s', lastingMore('< 10'), noDuration],
  ['ls --max-duration', lastingMore('< 60'), noDuration],
  ['ls --larger-than 1M', largerThan('> 1 * 1048576'), noSize],
  ['ls --smaller-than=500kB', largerThan('< 500 * 1000'), noSize],
  ['ls --max-size', largerThan('< 1000000000'), noSize],
  ['export --columns name', 'mediactl ls --all --csv --fields name', 'apply needs all columns of the table'],
  ['export --fields name', 'mediactl ls --all --csv --fields name', 'apply needs all columns of the table'],
  [
    'export --fields path,checksum',
    'mediactl check DIR /FOLDER --download, which compares the bytes',
    'the API lists no checksums',
  ],
  ['export --format xlsx', 'mediactl export library.csv'],
  ['checksum a.mp4', 'mediactl check FILE /FOLDER, which compares a file with a folder', 'the API lists no checksums'],
  ['md5 a.mp4', 'mediactl check FILE /FOLDER, which compares a file with a folder', 'the API lists no checksums'],
  ['audit', 'mediactl history, for changes; mediactl check DIR /FOLDER, for files'],
  [
    'upload F.mp4 --background',
    'nohup mediactl upload PATH /FOLDER >> run.log 2>&1 &',
    'an upload ends with its command',
  ],
  ['play clip.mp4 0:30', 'mpv --start=0:30 "$(mediactl play clip.mp4 --url)"', 'a playback URL has no start time'],
  [
    'stats clip.mp4 --plays',
    'mediactl get clip.mp4; mediactl stats /FOLDER',
    `${noAnalytics}, and stats counts assets of a folder`,
  ],
  ['stats --plays', 'mediactl stats, which counts assets', noAnalytics],
  ['stats --by-folder', '--by folder'],
  ['history -5', "mediactl history --jq '.[:5]'"],
  ['ls -5', 'mediactl ls --limit 5'],
  ['undo --last', 'mediactl undo, which reverts the last change'],
  ['undo all', 'mediactl history, to list them; mediactl undo CHANGE, for each', 'undo reverts one change'],
  [
    'history clear',
    'mediactl history, for the changes that it keeps',
    'no command deletes the history: it keeps changes so that they can be undone, and deletes old ones itself',
  ],
  [
    'uploads ls --failed',
    'leave it out: what failed and can be resumed is listed; mediactl ls --status failed, for assets',
  ],
  ['uploads restart', 'mediactl uploads resume --all'],
];

it.each(pointers)('the error of "mediactl %s" says to type "%s"', async (line, next, cause) => {
  for (const tty of [false, true]) {
    const { code, stderr } = await cli.run(typed(line), { tty, columns: 500, environment: { NO_COLOR: '1' } });
    const [, shownCause] = /^ {2}cause: (.*)$/m.exec(stderr) ?? [];
    const [, shownNext] = /^ {2}try: {3}(.*)$/m.exec(stderr) ?? [];
    expect([shownNext, shownCause]).toEqual([next, cause]);
    expect(code).not.toBe(0);
  }
});

it('upload with a file name in a directory of this machine says that it may be mistyped', async () => {
  const path = `${process.cwd()}/in/G.mp4`;
  const { stderr } = await cli.run(['upload', 'F.mp4', path]);
  const folder = `folder:${process.cwd()}/in`;
  expect(stderr).toContain(`try:   correct the local path; or mediactl upload F.mp4 ${folder} --name G.mp4\n`);
});

it('a list of several file names says how to find each of them', async () => {
  const nothing = (words: string) => `no assets with "${words}" in their name or description; `;
  for (const tty of [false, true]) {
    const local = await cli.run(['ls', 'a.mp4', 'b.mp4'], { tty, columns: 500 });
    expect(local.stderr).toBe(
      `${nothing('a.mp4 b.mp4')}mediactl get a.mp4 b.mp4, for assets of these names; mediactl upload a.mp4 b.mp4 -n --existing anywhere, for files of this machine; quote a glob, such as '/*.mp4'\n`,
    );
    const others = await cli.run(['search', 'x.mp4', 'my clip.mp4'], { tty, columns: 500 });
    expect(others.stderr).toBe(
      `${nothing('x.mp4 my clip.mp4')}mediactl get x.mp4 'my clip.mp4', for assets of these names\n`,
    );
  }
});

it.each([['rm --tag none -n'], ['tag --tag none --add sea -n'], ['mv --tag none /List -n']])(
  '"mediactl %s" says once that no asset matches',
  async (line) => {
    for (const tty of [false, true])
      expect(await cli.run(typed(line), { tty })).toEqual({
        code: 0,
        stdout: '',
        stderr: 'no assets match the filters\n',
      });
  },
);

it('a word after -- is a word, also if it looks like an option or a path of this machine', async () => {
  expect(await cli.run(['ls', '--', '-1', './'])).toMatchObject({ code: 0, stdout: '' });
});

it.each([
  [['ls', '-1'], 2],
  [['ls', './'], 2],
  [['mv', './F.mp4', '/List'], 2],
  [['ls', '-n', '5'], 2],
  [['ls', '--html', 'sheet.html', '-n'], 0],
  [['search', 'tag:x'], 0],
  [['ls', 'a.mp4'], 0],
])('%j is refused if no search can mean it, and else keeps its result', async (words, code) => {
  expect(await cli.run(words)).toMatchObject({ code, stdout: '' });
});
