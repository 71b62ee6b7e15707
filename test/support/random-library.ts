import {
  appendFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { Cli } from './cli.ts';
import type { FakeAsset } from './fake-library.ts';
import { FakeService, type ServiceFault, type ServiceRequest, sendBytes } from './fake-service.ts';
import { Random } from './random.ts';

type ShownFields = 'size' | 'parent' | 'checksum_blake3';

/** Fields that the records of a service show; the others are hidden. */
const shownFields: ShownFields[][] = [
  [],
  ['size'],
  ['parent'],
  ['size', 'parent'],
  ['size', 'parent', 'checksum_blake3'],
  ['size', 'parent'],
];
/** In both Unicode forms: the disk has another one than the library. */
const directories = ['', 'day 1', 'day 1/cam', 'caf\u00e9', 'cafe\u0301/x'];
const names = ['a.mov', 'b.mov', 'c.mov', 'u\u0308.mov', '\u00fc.mov', 'd e.mov'];
/** Few, so that equal content and equal sizes are frequent. */
const contents = ['one', 'two', 'three', 'seven', 'much longer than the others', 'of its own '];

/** A directory and the folder that it is synced to, in a state that people, machines and accidents have led to. */
export class RandomLibrary {
  readonly service: FakeService;
  readonly log: string[] = [];
  /** Directory to compare. */
  directory: string;
  /** Uids of assets that the other machine has uploaded. */
  readonly othersAssets = new Set<string>();
  readonly #random: Random;
  readonly #cli: Cli;
  /** Uids of assets of which the service has only a rendition to give. */
  readonly #renditions = new Set<string>();
  /** Called at the next chunk that is sent. */
  #onChunk: ((request: ServiceRequest) => ServiceFault | undefined) | undefined;
  #count = 0;

  private constructor(service: FakeService, random: Random) {
    this.service = service;
    this.#random = random;
    this.#cli = new Cli(service.environment);
    this.directory = join(this.#cli.home, 'rushes');
    mkdirSync(this.directory);
    service.fault = (request) => this.#faultOf(request);
  }

  /** Starts a service, and creates a state by what people and machines do, one after the other. */
  static async create(seed: number): Promise<RandomLibrary> {
    const random = new Random(seed);
    let library: RandomLibrary | undefined;
    const shows = random.pick(shownFields);
    const service = await FakeService.start({
      shows,
      media: (response, uid) => sendBytes(library?.bytesOf(uid) ?? Buffer.alloc(0), 'video/mp4')(response),
    });
    library = new RandomLibrary(service, random);
    library.log.push(`shows ${shows}`);
    for (let n = 0; n < 6; n++) library.#write(library.directory, library.#somePath());
    await library.#sync(library.directory, random.chance(0.5) ? 'state' : 'other');
    for (let n = 0; n < 4 + random.below(6); n++) await library.#step();
    return library;
  }

  /** Returns what the service sends for an asset. */
  bytesOf(uid: string): Buffer | undefined {
    return this.#renditions.has(uid) ? Buffer.from('a rendition') : this.service.assets.get(uid)?.bytes;
  }

  #faultOf(request: ServiceRequest): ServiceFault | undefined {
    const { path, method } = request;
    if (method !== 'PATCH' || !path.startsWith('/upload/'))
      return playsOriginals(request, (uid) => (this.#renditions.has(uid) ? 'audio' : 'video'));
    const onChunk = this.#onChunk;
    this.#onChunk = undefined;
    return onChunk?.(request);
  }

  run(args: readonly string[], machine: 'state' | 'other' = 'state') {
    const environment = { MEDIACTL_STATE_DIR: join(this.#cli.home, machine) };
    return this.#cli.run([...args, '--json'], { environment });
  }

  /** Runs a command, and returns the outcome of each path. */
  async outcomes(args: readonly string[]): Promise<Record<string, string>> {
    const { stdout, stderr, code } = await this.run(args);
    const shown = args.map((each) => each.replace(this.#cli.home, '~'));
    this.log.push(`${shown.join(' ')}: exit ${code} ${stderr.trim().replaceAll(this.#cli.home, '~')}`);
    const records: { path: string; outcome: string }[] = stdout ? JSON.parse(stdout) : [];
    return Object.fromEntries(records.map(({ path, outcome }) => [path, outcome]));
  }

  get files(): string[] {
    return listFiles(this.directory);
  }

  #write(directory: string, path: string, content = this.#random.pick(contents)): void {
    const target = join(directory, path);
    mkdirSync(dirname(target), { recursive: true });
    // A disk that keeps one form of a name has one file.
    if (listFiles(directory).some((each) => each.normalize('NFC') === target.normalize('NFC') && each !== target))
      return;
    writeFileSync(target, content);
    this.#touch(target);
  }

  #touch(path: string): void {
    utimesSync(path, 1_700_000_000 + ++this.#count, 1_700_000_000 + this.#count);
  }

  #somePath = () => join(this.#random.pick(directories), this.#random.pick(names));

  #some<T>(all: readonly T[]): T | undefined {
    return all.length > 0 ? this.#random.pick(all) : undefined;
  }

  async #act(args: readonly string[], machine: 'state' | 'other' = 'state'): Promise<void> {
    const known = new Set(this.service.assets.keys());
    const { code } = await this.run(args, machine);
    this.log.push(`${args[0]} by ${machine} (${code})`);
    if (machine === 'other')
      for (const uid of this.service.assets.keys()) if (!known.has(uid)) this.othersAssets.add(uid);
  }

  #sync = (directory: string, machine: 'state' | 'other') =>
    this.#act(['sync', directory, '/F', '--create-folders', '--transfers', '1'], machine);

  async #step(): Promise<void> {
    const [file, asset] = [
      this.#some(this.files),
      this.#some(this.service.completeAssets.toSorted((one, other) => (one.uid < other.uid ? -1 : 1))),
    ];
    const [what, step] = this.#random.pick([
      ...this.#changesOfFile(file),
      ...this.#changesOfAsset(asset),
      ...this.#runs(file),
    ]);
    this.log.push(`${what} ${file ? relative(this.directory, file) : ''} ${asset?.name ?? ''}`);
    await step();
  }

  #changesOfFile(file: string | undefined): [string, () => unknown][] {
    if (!file) return [['new file', () => this.#write(this.directory, this.#somePath())]];
    return [
      ['new file', () => this.#write(this.directory, this.#somePath())],
      ['edit', () => writeFileSync(file, `${readFileSync(file)} and more`)],
      ['edit of equal size', () => writeFileSync(file, readFileSync(file).toString().replace(/./, 'X'))],
      ['touch', () => this.#touch(file)],
      ['delete', () => unlinkSync(file)],
      ['rename', () => renameSync(file, join(dirname(file), `new ${++this.#count}.mov`))],
      ['copy', () => cpSync(file, `${file} copy.mov`)],
      ['hard link', () => linkSync(file, `${file} link ${++this.#count}.mov`)],
    ];
  }

  #changesOfAsset(asset: FakeAsset | undefined): [string, () => unknown][] {
    if (!asset) return [];
    return [
      ['trash an asset', () => Object.assign(asset, { isTrashed: true })],
      ['an asset fails', () => Object.assign(asset.fields, { status: 'failed' })],
      ['an asset is moved', () => Object.assign(asset, { folder: undefined })],
      ['an asset gets a title', () => Object.assign(asset, { name: asset.name.replace('.mov', '') })],
      ['an asset is renamed', () => Object.assign(asset, { name: `title ${++this.#count}` })],
      ['damage', () => damage(asset)],
      ['only a rendition is left', () => this.#renditions.add(asset.uid)],
    ];
  }

  #runs(file: string | undefined): [string, () => unknown][] {
    return [
      ['sync', () => this.#sync(this.directory, 'state')],
      ['sync', () => this.#sync(this.directory, 'other')],
      ['other files of another machine', () => this.#uploadOthers()],
      ['check --download', () => this.#act(['check', this.directory, '/F', '--download'])],
      ['bring home', () => this.#bringHome()],
      ['copy of the directory', () => this.#copyDirectory()],
      ['rename of the directory', () => this.#renameDirectory()],
      ['--move-to', () => file && this.#moveAway(file)],
      ['grows while it is sent', () => this.#growWhileSent()],
      ['no checksum is returned', () => this.#syncWithoutChecksum()],
    ];
  }

  /** Another machine uploads files of the same names, some with other content, from a directory of its own. */
  async #uploadOthers(): Promise<void> {
    const directory = join(this.#cli.home, `theirs ${++this.#count}`);
    for (let n = 0; n < 3; n++) this.#write(directory, this.#somePath().normalize('NFC'));
    await this.#sync(directory, 'other');
  }

  async #bringHome(): Promise<void> {
    const home = join(this.#cli.home, `home ${++this.#count}`);
    await this.#act(['download', '/F', '-d', home], this.#random.chance(0.7) ? 'state' : 'other');
    if (existsSync(home)) this.directory = home;
  }

  #copyDirectory(): void {
    const copy = join(this.#cli.home, `copy ${++this.#count}`);
    cpSync(this.directory, copy, { recursive: true, preserveTimestamps: true });
    this.directory = copy;
  }

  #renameDirectory(): void {
    const renamed = join(this.#cli.home, `renamed ${++this.#count}`);
    renameSync(this.directory, renamed);
    this.directory = renamed;
  }

  #moveAway = (file: string) =>
    this.#act([
      ...['sync', this.directory, '/F', '--create-folders', '--include', basename(file)],
      ...['--move-to', join(this.#cli.home, `done ${++this.#count}`)],
    ]);

  async #growWhileSent(): Promise<void> {
    const path = `grows ${++this.#count}.mov`;
    this.#write(this.directory, path);
    // The connection is lost, and the file is another one when the upload goes on.
    this.#onChunk = () => () => {
      appendFileSync(join(this.directory, path), ' and grows');
      return undefined;
    };
    await this.#act(['sync', this.directory, '/F', '--create-folders', '--include', path]);
    this.#onChunk = undefined;
  }

  async #syncWithoutChecksum(): Promise<void> {
    this.#write(this.directory, `unconfirmed ${++this.#count}.mov`);
    this.#onChunk =
      () =>
      async ({ act }) => {
        const { headers = {}, ...reply } = await act();
        return {
          ...reply,
          headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !/blake3/i.test(name))),
        };
      };
    await this.#sync(this.directory, 'state');
    this.#onChunk = undefined;
  }

  /** Returns true if the folder of a file has an asset with its bytes, and, unless `anyName`, with its name, that has not failed. */
  isInFolder(file: string, { anyName = false } = {}): boolean {
    const path = `/F/${relative(this.directory, file)}`.normalize('NFC');
    const bytes = readFileSync(file);
    const isAt = (found: string) => (anyName ? dirname(found) === dirname(path) : found === path);
    return this.service.completeAssets.some(
      (asset) =>
        asset.bytes.equals(bytes) &&
        asset.fields.status !== 'failed' &&
        isAt(this.#pathOf(asset.folder, asset.name).normalize('NFC')),
    );
  }

  #pathOf(folder: string | undefined, name: string): string {
    const found = this.service.folders.find(({ uid }) => uid === folder);
    return found ? this.#pathOf(found.parent, `${found.name}/${name}`) : `/${name}`;
  }

  /** Returns what the other machine's assets are, as a change of this machine would show. */
  get others() {
    return [...this.othersAssets].map((uid) => {
      const { name, folder, isTrashed, fields } = this.service.assets.get(uid) as FakeAsset;
      return { uid, name, folder, isTrashed, fields: { ...fields } };
    });
  }

  get writes(): number {
    const isWrite = (endpoint: string) => !/^(GET|HEAD) |playback/.test(endpoint);
    const counts = Object.entries(this.service.counts);
    return counts.reduce((sum, [endpoint, count]) => sum + (isWrite(endpoint) ? count : 0), 0);
  }
}

/** Serves the playback of each asset, so that its file can be downloaded. */
export function playsOriginals(
  { path, method, service }: ServiceRequest,
  typeOf = (_uid: string) => 'video',
): ServiceFault | undefined {
  const [, uid] = /^\/assets\/([0-9a-f-]+)\/player\//.exec(path) ?? [];
  if (uid) return () => ({ body: { uid, playback_token: `token-of-${uid}` } });
  if (method !== 'POST' || !path.startsWith('/playback/info')) return undefined;
  return async ({ act }) => {
    let asset = '';
    await act((bytes) => {
      asset = JSON.parse(bytes.toString()).asset_id;
      return bytes;
    }).catch(() => {});
    return { body: { type: typeOf(asset), source_url: `${service.url}/api/external/v1/media/${asset}` } };
  };
}

/** The service has lost some bytes, and does not know it: its checksum is that of what it has. */
function damage(asset: FakeAsset): void {
  asset.bytes = Buffer.from(asset.bytes.toString().replace(/.$/, '?'));
  asset.blake3 = blake3(asset.bytes).toString('hex');
}

const listFiles = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory, { withFileTypes: true, recursive: true })
        .filter((each) => each.isFile())
        .map((each) => join(each.parentPath, each.name))
        .sort()
    : [];
