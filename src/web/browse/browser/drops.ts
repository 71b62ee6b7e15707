import { useEffect, useRef } from 'preact/hooks';

/** A dropped file, and the relative directory it was in. */
export type DroppedFile = { file: File; below: string };

/** Files of a drop, and the names of unreadable entries. */
export type Drop = { files: DroppedFile[]; unreadable: string[] };

/** Collects the files of a drop recursively. Gets all entries before the first await, which invalidates them. */
export async function filesOf(transfer: DataTransfer): Promise<Drop> {
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const dropped = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found: Drop = { files: [], unreadable: [] };
  for (const each of dropped)
    if (each instanceof File) found.files.push({ file: each, below: '' });
    else if (each) await gather(each, '', found);
  return found;
}

/** System files that are skipped. */
const leftOut = new Set(['.DS_Store', 'Thumbs.db', 'desktop.ini', '.localized']);

/** Collects the files of an entry; records an unreadable one and continues. */
async function gather(entry: FileSystemEntry, below: string, found: Drop): Promise<void> {
  if (entry.isFile && (leftOut.has(entry.name) || entry.name.startsWith('._'))) return;
  try {
    if (entry.isFile) found.files.push({ file: await fileOf(entry as FileSystemFileEntry), below });
    else {
      const within = below ? `${below}/${entry.name}` : entry.name;
      for await (const each of entriesOf(entry as FileSystemDirectoryEntry))
        await gather(each, within, found);
    }
  } catch {
    found.unreadable.push(entry.name);
  }
}

const fileOf = (entry: FileSystemFileEntry) =>
  new Promise<File>((resolve, reject) => entry.file(resolve, reject));

/** Lists a directory. Browsers return about 100 entries per read, and an empty batch at the end. */
async function* entriesOf(directory: FileSystemDirectoryEntry): AsyncGenerator<FileSystemEntry> {
  const reader = directory.createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return;
    yield* some;
  }
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false;

/** Accepts files dropped anywhere on the page. @param setOver called when a drag enters or leaves the page */
export function useDrops(setOver: (isOver: boolean) => void, take: (drop: Drop) => void): void {
  const taking = useRef(take);
  taking.current = take;
  useEffect(() => {
    const listeners = {
      dragover: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      },
      dragleave: ({ relatedTarget }: DragEvent) => {
        if (relatedTarget === null) setOver(false);
      },
      drop: (event: DragEvent) => {
        setOver(false);
        if (!hasFiles(event) || !event.dataTransfer) return;
        event.preventDefault();
        void filesOf(event.dataTransfer).then(taking.current);
      },
    };
    for (const [name, listen] of Object.entries(listeners))
      addEventListener(name, listen as EventListener);
    return () => {
      for (const [name, listen] of Object.entries(listeners))
        removeEventListener(name, listen as EventListener);
    };
  }, []);
}
