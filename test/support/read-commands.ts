import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandTable } from './command-table.ts';
import { assetUid } from './fake-library.ts';

/** The commands of the table that need no input, but for most of those that `videos` shares with `assets`. */
const ofTable = Object.entries(commandTable)
  .filter(([name, { stdin, readsLibrary }]) => readsLibrary && stdin === undefined && !/^videos (?!ls)/.test(name))
  .map(([, { args }]) => args);

/**
 * Commands that together parse every kind of response, in the forms that read most fields. HOME stands for
 * the home directory.
 */
export const readCommands: string[][] = [
  ...ofTable,
  ...['ls --json', 'ls --count', 'ls --csv', 'ls --all --jsonl'].map((each) => `assets ${each}`.split(' ')),
  ['assets', 'ls', '/Campaigns'],
  ['assets', 'get', 'Quay'],
  ['assets', 'get', assetUid, '--json'],
  ['assets', 'tag', '--created-after', '2020-01-01', '--set', 'a', '--yes'],
  ['assets', 'rm', '--folder', '/', '--yes'],
  ['assets', 'wait', assetUid, '--timeout', '1s'],
  ['upload', 'HOME/file.txt', '--json'],
  ['upload', 'HOME/file.txt', '--wait', '--folder', '/Campaigns/New', '--create-folders'],
  ['folders', 'ls', '/'],
  ['embed', 'domains', 'sync', 'HOME/domains.txt', '--prune', '--yes'],
  ['play', assetUid, '--json'],
  ['play', assetUid, '--url'],
  ['play', assetUid, '--probe'],
  ['api', '/assets/', '--paginate'],
];

const link = (name: string) => ({ url: `HERE/media/${name}`, expires_at: '2027-01-01T00:00:00Z' });
/** Playback info of each asset type (§2). HERE stands for the service's origin. */
export const playbackInfos = [
  {
    type: 'video',
    blocked: false,
    hls_url: link('a.m3u8'),
    source_url: link('a.mp4'),
    preview_sprites_url: link('s.vtt'),
    resume_position_seconds: 2,
    chapters: [{ title: 'One', start_time: 0 }],
  },
  {
    type: 'audio',
    blocked: false,
    source: link('a.mp3'),
    waveform_url: 'HERE/media/w.json',
    subtitle_tracks: [{ url: 'HERE/media/a.vtt', language: 'en', label: 'English' }],
  },
  {
    type: 'image',
    blocked: false,
    variants: [{ url: 'HERE/media/t.jpg', width: 10, height: 10 }],
  },
  { type: 'document', blocked: false, url: 'HERE/media/a.pdf', thumbnails: [link('1.jpg')] },
  { type: 'third_party', blocked: false, embed_url: 'HERE/media/embed' },
];

/** Splits a command line into arguments and writes the files that it reads into `home`. */
export function prepareCommand(line: string, home: string): string[] {
  writeFileSync(join(home, 'file.txt'), 'four');
  writeFileSync(join(home, 'domains.txt'), 'news.example\n');
  return line.replaceAll('HOME', home).split(' ');
}
