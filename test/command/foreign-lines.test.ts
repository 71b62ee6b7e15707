import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
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
  for (const name of ['F.mp4', 'a.mp4', 'b.mp4', 'in/c.mp4', 'l.vtt', 'names.csv'])
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
  ['cp -r ./in /Y', 'mediactl upload PATH /FOLDER'],
  ['upload F.mp4 --dry-run', 'dry run: 1 file'],
  ['ls --limit 5 -o json', '--format json'],
  ['get clip.mp4 --output json', '--format json'],
  ['rm -rf /F', 'leave it out: what goes is listed first'],
  ['mkdir -p /a/b', 'mediactl folders create /FOLDER'],
  ['upload . /Y -n', 'dry run: 6 files'],
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
  ['tag add clip.mp4 press', 'mediactl tag clip.mp4 --add press'],
  ['tag press clip.mp4', 'mediactl tag clip.mp4 --add press'],
  ['folder create', 'did you mean folders?'],
  ['folders create Press2 -n', 'POST'],
  ['export --format xlsx', 'use one of'],
  ['share /F', 'no asset or folder at /F'],
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
  ['tag clip.mp4 +a -b', 'mediactl tag ID --add a --remove TAG'],
  ['rename clip.mp4 to Y', 'mediactl rename clip.mp4 Y'],
  ['export -f csv', '--format csv'],
  ['apply -f names.csv', 'mediactl apply FILE'],
  ['play --vlc clip.mp4', '"$(mediactl play ID --url)"'],
  ['play clip.mp4 0:30', 'mpv --start=0:30'],
  ['config set profile acme', 'mediactl auth switch acme'],
  ['config get', 'mediactl config ls'],
  ['doctor --fix', 'doctor changes nothing'],
  ['uninstall', 'npm uninstall --global mediactl'],
  ['redo', 'mediactl undo CHANGE'],
  ['history clear', 'keeps changes for 90 days'],
  ['embed clip.mp4 --width 640', 'the API has no embed code'],
  ['stats --limit 3', 'stats counts all'],
  ['ls -1', "-q, for the uids alone; --jq '.[].name'"],
  ['ls -n 5', 'mediactl ls --limit 5'],
  ['ls a.mp4 b.mp4', 'a file of this machine: mediactl upload a.mp4 -n'],
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
  ['undo 2', 'six digits'],
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
  ['cp F.mp4 /List/', 'mediactl upload PATH /FOLDER'],
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
  ['tag -l', 'mediactl stats --tags'],
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
  ['sync in /Y --remove-source', '--move-to DIR'],
  ['uploads retry', 'mediactl uploads resume --all'],
  ['sync in /Y --log-file x.log', '--results FILE'],
  ['share clip.mp4 --password p', 'no links with a password'],
  ['stats clip.mp4', 'the API has no analytics'],
  ['upload l.vtt --to lesson.mp4', 'the API cannot add subtitles'],
  ['download --tag final Desktop', 'no assets match the filters'],
  ['sync in Y', 'mediactl sync in /Y'],
  ['auth rotate', 'mediactl login --profile NAME'],
  ['exit-codes', 'docs/errors.md'],
  ['options', '--profile <name>'],
  ['limits', 'mediactl whoami'],
  ['share clip.mp4 --copy', 'mediactl share ID | pbcopy'],
  ['share A B C', 'mediactl share "$id"'],
  ['stats --by folder', 'leave it out'],
  ['ls --orientation portrait', 'select(.height > .width)'],
  ['ls --no-description', '.description'],
  ['check F.mp4', 'mediactl upload F.mp4 -n'],
  ['check in /Y --missing', 'leave it out'],
  ['tags rename sumer summer', 'mediactl tag --tag sumer --add summer --remove sumer'],
  ["rename '/List/*' s/a/b/", 'mediactl apply names.csv'],
  ["mv 'shot_*' 'ACME_*'", 'mediactl apply names.csv'],
  ['embed reel1.mp4', 'the API has no embed code'],
  ['history --since 7d', 'the changes of this machine only'],
  ['folders rm --empty', 'no command finds empty folders'],
  ['rm --duplicates', 'mediactl stats --duplicates'],
  ['login acme --base-url https://x.example.com', 'mediactl login --profile acme'],
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
