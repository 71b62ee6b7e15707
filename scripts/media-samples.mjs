// Fetches media files that other people made into node_modules/.cache/media-samples, for
// test/command/media-samples.full.test.ts: the files of npm packages that have media among their own tests.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Packages with the SHA-512 that the registry had for them. */
const packages = {
  '@videojs/vhs-utils@4.1.2':
    'sha512-1Dsv5dtWOq0LP1G37O46FQFA2tKAZON5UMe6dFPxT7JvPhEx8QIXcFQxan8+hHI3fX6aomFRFrUBJNgRYQDSXA==',
  'mux.js@7.1.0': 'sha512-NTxawK/BBELJrYsZThEulyUMDVlLizKdxyAsMuzoCD1eFj97BVaA8D/CvKsKu6FOLYkFojN5CbM9h++ZTZtknA==',
  'audio-lena@3.0.1': 'sha512-SLjToXZRebe2TsEwW49GSC4NhQwP5wV9ee/UHQjW9Z6ZfvGL0ofvQPiYxJ9HLBvLiryrDGclGNzmGtdXglTO6Q==',
  'exif@0.6.0': 'sha512-gEwM4uanNMfLnDNKclZ7jPEA99E3rpy4ntoS6QW8u6murZjl1o8qRaPdMoC46Syg3d9/QaET0bYKhWlTwJCPgg==',
  'exif-parser@0.1.12':
    'sha512-c2bQfLNbMzLPmzQuOr8fy0csy84WmwnER81W88DzTp9CYNPJ6yzOj2EZAh9pywYpqHnshVLHQJ8WzldAyfY+Iw==',
  'ebml@3.0.0': 'sha512-Q6C1u4/TX1nYipT9HNIopp95YyyyI0zs1GXdNRKO7XL7k+oo+ZtDc1CaJjpCdmlLxWsnlKBOXJCXkYU0K/Anlg==',
  'gif-info@1.0.1': 'sha512-HGZRrn/q2TyBsIijOGbVoiFYRIJCA17/wwngtOQ/OWlCNTBB7ooafY9jZAzI62S9QljmgWWGLa9ZSiUWx298vw==',
  'node-ffprobe@3.0.0':
    'sha512-2LNTLStz2hw/urwo4xJ00TIOvthgepcl3tF4HB8BWnhJ4nhJ7S08YThapBHkGLYV+GUuY9pML/kX76+dqY2iUg==',
};

const isMedia = /\.(aac|ac3|aiff?|avi|caf|flac|gif|jpg|m4a|m4s|mkv|mov|mp3|mp4|ogg|opus|png|raw|ts|wav|webm)$/;
const isCode = /\.d\.ts$/;
/**
 * Of the combinations of codecs in @videojs/vhs-utils, whose names have a comma, none is taken, nor a container that
 * repeats those of MP4.
 */
const isRepetition = /,|formats\/(avi|mkv|mov|ts)\//;

const target = resolve('node_modules/.cache/media-samples');
const work = mkdtempSync(join(tmpdir(), 'mediactl-media-samples-'));
try {
  const fetched = join(work, 'media-samples');
  mkdirSync(fetched);
  let count = 0;
  for (const [name, integrity] of Object.entries(packages)) {
    const folder = join(work, name);
    mkdirSync(folder, { recursive: true });
    const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder, name], { encoding: 'utf8' });
    const [packed] = JSON.parse(printed);
    if (packed.integrity !== integrity)
      throw new Error(`${name} is not the package that was tested: ${packed.integrity}`);
    const archive = readdirSync(folder).find((each) => each.endsWith('.tgz'));
    execFileSync('tar', ['-xzf', archive], { cwd: folder });
    const paths = readdirSync(folder, { recursive: true })
      .map(String)
      .filter((path) => isMedia.test(path) && !isCode.test(path) && !isRepetition.test(path));
    for (const path of paths) {
      const own = path.replace(/^package\//, '').replace(/^test\/(fixtures\/formats\/|segments\/|gif\/)?/, '');
      cpSync(join(folder, path), join(fetched, `${name.replaceAll('/', '-')} ${own.replaceAll('/', ' ')}`));
    }
    count += paths.length;
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(join(target, '..'), { recursive: true });
  try {
    renameSync(fetched, target);
  } catch (error) {
    if (error.code !== 'EXDEV') throw error;
    cpSync(fetched, target, { recursive: true }); // the temporary folder is on another disk
  }
  console.log(`${count} media files in ${target}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
