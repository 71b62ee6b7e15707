import { compileGlobs } from './glob.ts';

/** A glob of the names that a program leaves beside media, with a slash if of directories only, and who leaves them. */
type Leftover = { pattern: string; from: string };

/** Files and directories that are not uploaded unless they are asked for. Names match in any case. */
export const leftovers: readonly Leftover[] = [
  { pattern: '.DS_Store', from: 'macOS' },
  { pattern: '._*', from: 'macOS' },
  { pattern: '.localized', from: 'macOS' },
  { pattern: '.Spotlight-V100', from: 'macOS' },
  { pattern: '.Trashes', from: 'macOS' },
  { pattern: '.fseventsd', from: 'macOS' },
  { pattern: '.TemporaryItems', from: 'macOS' },
  { pattern: '.DocumentRevisions-V100', from: 'macOS' },
  { pattern: '.AppleDouble', from: 'macOS' },
  { pattern: 'Thumbs.db', from: 'Windows' },
  { pattern: 'ehthumbs.db', from: 'Windows' },
  { pattern: 'desktop.ini', from: 'Windows' },
  { pattern: '$RECYCLE.BIN', from: 'Windows' },
  { pattern: 'System Volume Information', from: 'Windows' },
  { pattern: '~$*', from: 'Microsoft Office' },
  { pattern: '.~lock.*#', from: 'LibreOffice' },
  { pattern: '.Trash-*', from: 'Linux desktops' },
  { pattern: '.thumbnails', from: 'Linux desktops' },
  { pattern: '.directory', from: 'Linux desktops' },
  { pattern: '@eaDir', from: 'Synology' },
  { pattern: '#recycle', from: 'Synology' },
  { pattern: '#snapshot', from: 'Synology' },
  { pattern: '.@__thumb', from: 'QNAP' },
  { pattern: '@Recycle', from: 'QNAP' },
  { pattern: '.nfs*', from: 'file systems' },
  { pattern: '.fuse_hidden*', from: 'file systems' },
  { pattern: 'lost+found', from: 'file systems' },
  { pattern: '.git', from: 'version control' },
  { pattern: '.svn', from: 'version control' },
  { pattern: '.hg', from: 'version control' },
  { pattern: '*.part', from: 'downloads' },
  { pattern: '*.partial', from: 'downloads' },
  { pattern: '*.crdownload', from: 'downloads' },
  { pattern: '*.download/', from: 'downloads' },
  { pattern: '*.!qB', from: 'downloads' },
  { pattern: '.stversions', from: 'sync programs' },
  { pattern: '.stfolder', from: 'sync programs' },
  { pattern: '.syncthing.*.tmp', from: 'sync programs' },
  { pattern: '.dropbox.cache', from: 'sync programs' },
];

const globs = leftovers.map(({ pattern }) => pattern);
const matchesFile = compileGlobs(
  globs.filter((glob) => !glob.endsWith('/')),
  { ignoreCase: true },
);
const matchesDirectory = compileGlobs(globs, { ignoreCase: true });

/** Returns true if a program leaves files or directories of this name beside media. */
export const isLeftover = (name: string, isDirectory: boolean) =>
  isDirectory ? matchesDirectory(name) : matchesFile(name);
