import { type ForeignWord, ffmpeg, noReplacing, trim, uploadCommands } from './foreign-commands.ts';

const sessionStarts = 'leave it out: an expired session starts again, and the run names the incomplete asset';

/** Options of `upload` and `sync`. */
export const uploadOptions: readonly ForeignWord[] = [
  { after: uploadCommands, words: '--url --file -i --input --source', use: 'mediactl upload FILE, without an option' },
  { after: uploadCommands, words: '--recursive -r -R', use: 'leave it out: a directory includes its subdirectories' },
  {
    after: uploadCommands,
    words: '--duplicates',
    use: '--existing content, anywhere or file, for skip, skip-anywhere or upload',
  },
  { after: uploadCommands, words: '--ignore-existing', use: '--existing name' },
  {
    after: uploadCommands,
    words: '--skip-existing --no-clobber --skip-duplicates --no-overwrite',
    use: 'leave it out: files that are uploaded already are skipped; --existing name compares only names',
  },
  {
    after: uploadCommands,
    words: '--overwrite --replace --clobber --asset-id',
    cannot: noReplacing,
    use: '--existing upload, for a new asset',
  },
  {
    after: uploadCommands,
    words: '--estimate',
    use: 'mediactl upload FILE -n, which also prints the totals, requests and time',
  },
  {
    after: uploadCommands,
    words: '--stdin-size',
    use: 'leave it out: stdin is saved to a file first, and then resumable',
  },
  { after: [...uploadCommands, 'resume'], words: '--on-session-expired', use: sessionStarts },
  { after: ['resume'], words: '--force', use: '--existing upload' },
  { after: uploadCommands, words: '--resume --continue -C', use: 'leave it out: the same command again resumes' },
  {
    after: uploadCommands,
    words: '--update -u --newer --exact-timestamps --mirror',
    use: 'mediactl sync DIR /FOLDER, which uploads new and changed files',
  },
  {
    after: uploadCommands,
    words: '--size-only',
    use: 'leave it out: size and times are compared; --checksum compares content',
  },
  {
    after: ['upload'],
    words: '--remove-source-files --remove-source --delete-source --delete-source-files --delete --move',
    cannot: 'mediactl deletes no local files',
    use: 'mediactl sync DIR /FOLDER --move-to DONE, which moves each uploaded file there',
  },
  {
    after: ['mediactl sync'],
    words: '--remove-source-files --remove-source --move',
    cannot: 'mediactl deletes no local files',
    use: '--move-to DIR, which moves each uploaded file there',
  },
  {
    after: uploadCommands,
    words: '--log-file --logfile --log',
    use: '2>> run.log, for the messages; --results run.csv, for a line of each file',
  },
  { after: uploadCommands, words: '--track-renames', use: 'leave it out: a sync follows renamed files' },
  {
    after: uploadCommands,
    words: '--backup-dir --suffix',
    cannot: 'no upload replaces a file; a changed one becomes a new asset',
    use: 'leave it out',
  },
  {
    after: uploadCommands,
    words: '--poll --continuous --daemon --follow',
    use: 'mediactl sync DIR /FOLDER --watch',
  },
  {
    after: uploadCommands,
    words: '--max-age --newer-than --since',
    use: 'find DIR -type f -mtime -1 | mediactl upload --files-from - /FOLDER',
  },
  {
    after: uploadCommands,
    words: '--min-size --max-size',
    use: 'find DIR -type f -size +1M | mediactl upload --files-from - /FOLDER',
  },
  { after: uploadCommands, words: '--max-duration --until --deadline', use: '--stop-at TIME' },
  { after: uploadCommands, words: '--no-traverse --fast-list', use: 'leave it out: an uploaded file costs no request' },
  {
    after: uploadCommands,
    words: '-L --copy-links --links --follow-symlinks --skip-links',
    use: 'leave it out: links to files are followed; --root DIR uploads only what is below a directory',
  },
  {
    after: uploadCommands,
    words:
      '-c -codec -acodec -c:v -c:a -crf -b:v -preset --codec --resolution --quality --bitrate --preset --video-quality --encoding-tier --max-resolution-tier',
    cannot: 'the service chooses how it encodes',
    use: ffmpeg,
  },
  {
    after: uploadCommands,
    words: '-ss -t -to --start --end --clip --trim',
    cannot: 'the API cannot trim an asset',
    use: trim,
  },
  {
    after: uploadCommands,
    words: '--storage-class --sse --cache-control --metadata --content-disposition --content-encoding --passthrough',
    cannot: 'the API stores no such property of a file',
    use: '--description TEXT, or --tag TAG',
  },
  { after: uploadCommands, words: '--open --web', use: 'mediactl open @last, once it is ready' },
];
