import { isLeftover } from '../../../contract/leftovers.ts';
import { uidPattern } from '../protocol.ts';
import { useWindowEvent } from './hooks.ts';

export type DroppedFile = { file: File; relativeDir: string };

/** Files of a drop, and the names of the entries that cannot be read. */
export type DropContents = { files: DroppedFile[]; unreadable: string[] };

/** Collects the files of a drop recursively. Gets all entries before the first await, which invalidates the items. */
export async function readDrop(transfer: DataTransfer): Promise<DropContents> {
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const dropped = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found: DropContents = { files: [], unreadable: [] };
  for (const each of dropped)
    if (each instanceof File) found.files.push({ file: each, relativeDir: '' });
    else if (each) await collectFiles(each, '', found);
  return found;
}

/** Collects the files of an entry: of a directory without what other programs left in it. */
async function collectFiles(entry: FileSystemEntry, relativeDir: string, found: DropContents): Promise<void> {
  try {
    if (entry.isFile) found.files.push({ file: await readFile(entry as FileSystemFileEntry), relativeDir });
    else {
      const childDir = relativeDir ? `${relativeDir}/${entry.name}` : entry.name;
      for await (const each of readEntries(entry as FileSystemDirectoryEntry))
        if (!isLeftover(each.name, each.isDirectory)) await collectFiles(each, childDir, found);
    }
  } catch {
    found.unreadable.push(entry.name);
  }
}

const readFile = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));

/** Yields the entries of a directory. Browsers return about 100 entries per read, and an empty batch at the end. */
async function* readEntries(directory: FileSystemDirectoryEntry): AsyncGenerator<FileSystemEntry> {
  const reader = directory.createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    yield* some;
  }
}

/** Returns chosen files: of a folder with their path in it, and without what other programs left there. */
export function readChosen(chosen: Iterable<File>): DropContents {
  const files = [...chosen].flatMap((file) => {
    const dirs = file.webkitRelativePath.split('/').slice(0, -1);
    const isLeft =
      dirs.length > 0 && (isLeftover(file.name, false) || dirs.slice(1).some((dir) => isLeftover(dir, true)));
    return isLeft ? [] : [{ file, relativeDir: dirs.join('/') }];
  });
  return { files, unreadable: [] };
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

export function startDrag({ dataTransfer }: DragEvent, uid: string): void {
  dataTransfer?.setData(dragDataType, uid);
  if (dataTransfer) dataTransfer.effectAllowed = 'move';
}

const uidFormat = new RegExp(`^${uidPattern}$`);

export function draggedUid(transfer: DataTransfer): string | undefined {
  const dragged = transfer.getData(dragDataType);
  return uidFormat.test(dragged) ? dragged : undefined;
}
