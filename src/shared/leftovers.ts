/**
 * The names of what a program leaves beside media, and the programs. In a pattern `*` is any characters, at least one,
 * and `?` one letter or digit; a slash at its end is for directories only. NAME is the name of a file that is meant: it
 * has a known extension, or a file of that name is beside it.
 */
type Leftover = { pattern: string; from: string };

/** Files and directories that are not uploaded unless they are asked for. Names match in any case. */
export const leftovers: readonly Leftover[] = [
  ...namesOf('macOS', '.DS_Store', '._*', '.localized', '.Spotlight-V100', '.Trashes', '.Trash', '.fseventsd'),
  ...namesOf('macOS', '.TemporaryItems', '.DocumentRevisions-V100', '.AppleDouble', '.smbdelete*', 'NAME.sb-*-*'),
  ...namesOf('iCloud', '.*.icloud'),
  ...namesOf('Android', '.trashed-*-*', '.pending-*-*'),
  ...namesOf('Windows', 'Thumbs.db', 'ehthumbs.db', 'desktop.ini', '$RECYCLE.BIN', 'System Volume Information'),
  ...namesOf('Microsoft Office', '~$*'),
  ...namesOf('LibreOffice', '.~lock.*#'),
  ...namesOf('Linux desktops', '.Trash-*', '.thumbnails', '.directory', '.goutputstream-??????'),
  ...namesOf('Synology', '@eaDir', '#recycle', '#snapshot'),
  ...namesOf('QNAP', '.@__thumb', '@Recycle'),
  ...namesOf('Samba and network storage', '.recycle/', '.snapshot/', '.snapshots/', '~snapshot/', '.zfs/'),
  ...namesOf('file systems', '.nfs*', '.fuse_hidden*', 'lost+found'),
  ...namesOf('version control', '.git', '.svn', '.hg'),
  ...namesOf('Firefox, yt-dlp, Transmission', '*.part', '*.part-Frag*', '*.ytdl'),
  ...namesOf('Chrome, Edge, Opera, Safari', '*.crdownload', '*.opdownload', '*.partial', '*.download/'),
  ...namesOf('download managers', '*.aria2', '*.fdmdownload', '*.!qB', '*.!ut', '*.!bt', '*.bc!'),
  ...namesOf('WinSCP, Cyberduck, lftp', '*.filepart', '*.cyberducksegment/', '*.lftp-pget-status'),
  ...namesOf('FTP servers', '.pureftpd-upload.*', '.in.*.'),
  ...namesOf('rsync', '.NAME.??????', '.~tmp~/', '.rsync-partial/'),
  ...namesOf('Syncthing', '.stversions', '.stfolder', '.syncthing.*.tmp', '~syncthing~*.tmp'),
  ...namesOf('Resilio Sync', '*.!sync', '.sync/'),
  ...namesOf('Dropbox', '.dropbox', '.dropbox.attr', '.dropbox.cache'),
  ...namesOf('Nextcloud, ownCloud', '.owncloudsync.log', '.nextcloudsync.log', '.sync_*.db', '.sync_*.db-*'),
  ...namesOf('Nextcloud, ownCloud', '.NAME.~*', 'NAME.nextcloud', 'NAME.owncloud'),
  ...namesOf('Google Drive', '.tmp.drivedownload', '.tmp.driveupload', '*.gdoc', '*.gsheet', '*.gslides', '*.gdraw'),
  ...namesOf('Google Drive', '*.gform', '*.gmap', '*.gsite', '*.gjam'),
  ...namesOf('programs that write beside a file', 'NAME.tmp'),
];

function namesOf(from: string, ...patterns: string[]): Leftover[] {
  return patterns.map((pattern) => ({ pattern, from }));
}

/** Extensions of media and documents, by which the name of a file that is meant is recognized. */
const knownExtensions = new Set(
  [
    '3g2 3gp 360 avi braw dv f4v flv insv lrf lrv m2t m2ts m4v mkv mov mp4 mpeg mpg mts mxf ogv r3d ts vob webm wmv',
    'aac ac3 aif aifc aiff amr ape caf dsf dts eac3 flac m4a m4b mid midi mka mp3 oga ogg opus wav wma wv',
    'ai arw avif bmp cr2 cr3 dng dpx eps exr gif heic heif insp jp2 jpeg jpg jxl nef orf png psb psd raf rw2 svg svgz',
    'tga thm tif tiff webp ass csv doc docx epub htm html json key md numbers odp ods odt pages pdf ppt pptx rtf srt',
    'ssa txt vtt xls xlsx xml zip',
  ].flatMap((line) => line.split(' ')),
);

const hasKnownExtension = (name: string) => knownExtensions.has(/\.([^.]+)$/.exec(name.toLowerCase())?.[1] ?? '');

/** A pattern with wildcards. Its ends are compared first, since a regular expression takes long to compile. */
class Rule {
  readonly from: string;
  readonly isDirectoryOnly: boolean;
  readonly #pattern: string;
  readonly #start: string;
  readonly #end: string;
  #expression: RegExp | undefined;

  constructor({ pattern, from }: Leftover) {
    this.from = from;
    this.isDirectoryOnly = pattern.endsWith('/');
    this.#pattern = bareName(pattern);
    this.#start = this.#pattern.replace(/(?:NAME|\*|\?).*/s, '').toLowerCase();
    this.#end = this.#pattern.replace(/.*(?:NAME|\*|\?)/s, '').toLowerCase();
  }

  /** @param lower the name in lower case */
  matches(name: string, lower: string, isBeside: (name: string) => boolean): boolean {
    if (!(lower.startsWith(this.#start) && lower.endsWith(this.#end))) return false;
    this.#expression ??= compile(this.#pattern);
    const [match, meant] = this.#expression.exec(name) ?? [];
    return match !== undefined && (meant === undefined || hasKnownExtension(meant) || isBeside(meant));
  }
}

const bareName = (pattern: string) => pattern.replace(/\/$/, '');

function compile(pattern: string): RegExp {
  const wildcards: { [part: string]: string } = { NAME: '(.+)', '*': '.+', '?': '[a-z\\d]' };
  const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const source = pattern.split(/(NAME|\*|\?)/).map((part) => wildcards[part] ?? literal(part));
  return new RegExp(`^${source.join('')}$`, 'is');
}

const hasWildcard = ({ pattern }: Leftover) => /NAME|\*|\?/.test(pattern);
const rules = leftovers.filter(hasWildcard).map((leftover) => new Rule(leftover));
const names = new Map(
  leftovers.filter((each) => !hasWildcard(each)).map((each) => [bareName(each.pattern).toLowerCase(), each]),
);

/**
 * Returns the programs that leave a file or a directory of this name beside media; undefined if none does.
 *
 * @param isBeside returns true for the name of another entry of its directory
 */
export function leftBy(
  name: string,
  isDirectory: boolean,
  isBeside: (name: string) => boolean = () => false,
): string | undefined {
  const lower = name.toLowerCase();
  const named = names.get(lower);
  if (named && (isDirectory || !named.pattern.endsWith('/'))) return named.from;
  return rules.find((rule) => (isDirectory || !rule.isDirectoryOnly) && rule.matches(name, lower, isBeside))?.from;
}
