import { formatCount } from '../../../shared/figures.ts';
import { findLeftOut, isLeftOut } from '../left-out.ts';
import { maxMoved, uidPattern } from '../protocol.ts';
import { useWindowEvent } from './hooks.ts';

export type DroppedFile = { file: File; relativeDir: string };

/** Files of a drop, the names of the entries that cannot be read, and of those that are left out. */
export type DropContents = { files: DroppedFile[]; unreadable: string[]; leftOut: string[] };

/** Collects the files of a drop recursively. Gets all entries before the first await, which invalidates the items. */
export async function readDrop(transfer: DataTransfer): Promise<DropContents> {
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const dropped = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found: DropContents = { files: [], unreadable: [], leftOut: [] };
  for (const each of dropped)
    if (each instanceof File) found.files.push({ file: each, relativeDir: '' });
    else if (each) await collectFiles(each, '', found);
  return found;
}

/** Collects the files of an entry: of a directory without what is left out. */
async function collectFiles(entry: FileSystemEntry, relativeDir: string, found: DropContents): Promise<void> {
  try {
    if (entry.isFile) found.files.push({ file: await readFile(entry as FileSystemFileEntry), relativeDir });
    else {
      const childDir = relativeDir ? `${relativeDir}/${entry.name}` : entry.name;
      const entries = await readEntries(entry as FileSystemDirectoryEntry);
      const names = new Set(entries.map(({ name }) => name));
      for (const each of entries)
        if (isLeftOut(each.fullPath, each.isDirectory, names)) found.leftOut.push(each.name);
        else await collectFiles(each, childDir, found);
    }
  } catch {
    found.unreadable.push(entry.name);
  }
}

const readFile = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));

/** Returns the entries of a directory. Browsers return about 100 entries per read, and an empty batch at the end. */
async function readEntries(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return entries;
    entries.push(...some);
  }
}

/** Returns chosen files: of a folder with their path in it, and without what is left out there. */
export function readChosen(chosen: Iterable<File>): DropContents {
  const all = [...chosen];
  const leftOut = findLeftOut(all.map(({ webkitRelativePath: path }) => path));
  const isLeft = ({ webkitRelativePath: path }: File) => leftOut.has(path);
  const files = all
    .filter((file) => !isLeft(file))
    .map((file) => ({ file, relativeDir: file.webkitRelativePath.split('/').slice(0, -1).join('/') }));
  return { files, unreadable: [], leftOut: all.filter(isLeft).map(({ name }) => name) };
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false;

/** Accepts files that are dropped anywhere on the web page. */
export function useDrops(setOver: (isOver: boolean) => void, onDrop: (drop: DropContents) => void): void {
  useWindowEvent('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    setOver(true);
  });
  useWindowEvent('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) setOver(false);
  });
  useWindowEvent('drop', (event) => {
    setOver(false);
    if (!hasFiles(event) || !event.dataTransfer) return;
    event.preventDefault();
    void readDrop(event.dataTransfer).then(onDrop);
  });
}

/** Private drag data type, so that data dragged from other web pages is not mistaken for an asset. */
const dragDataType = 'application/x-mediactl-asset';

/** Assets that are dragged: no uids if there are too many to move at once. */
export type Dragged = { uids: readonly string[]; count: number };

/** Starts to drag assets, with their number at the pointer if there are several. */
export function startDrag({ dataTransfer }: DragEvent, { uids, count }: Dragged): void {
  if (!dataTransfer) return;
  dataTransfer.setData(dragDataType, JSON.stringify({ uids: count > maxMoved ? [] : uids, count }));
  dataTransfer.effectAllowed = 'move';
  if (count === 1) return;
  const label = document.createElement('span');
  label.className = 'dragged';
  label.textContent = `${formatCount(count)} assets`;
  document.body.append(label);
  dataTransfer.setDragImage(label, -12, -12);
  setTimeout(() => label.remove()); // the browser has taken its picture
}

const uidFormat = new RegExp(`^${uidPattern}$`);

export function draggedAssets(transfer: DataTransfer): Dragged | undefined {
  const data = transfer.getData(dragDataType);
  const { uids, count } = (data ? JSON.parse(data) : {}) as Partial<Dragged>;
  return uids?.every((uid) => uidFormat.test(uid)) && count ? { uids, count } : undefined;
}
