import type { ReceiptKey } from '../store/receipts.ts';

/** A file that is to be on the service, as its source tells before a byte is read. */
export type Wanted = {
  /** As people know it; `-` is stdin. */
  path: string;
  /** As it was typed: the path of a directory that it is in, or the glob that means it. */
  named?: string | undefined;
  /** What receipts know it by: its real path, or an address. Undefined where nobody can tell before. */
  knownAs?: string | undefined;
  /** Undefined where nobody can tell before: stdin. */
  sizeBytes?: number | undefined;
  mtimeNs?: string | undefined;
  /** Of a file found in a directory: the folders between the two, such as `day 1/cam a`; else empty. */
  below: string;
  /** As the service is to see it, where its path does not tell. */
  filename?: string | undefined;
  /** What to call it where its path says nothing to people. */
  label?: string | undefined;
  /** It can be read once: nothing can be compared before it is sent. */
  isOnce?: boolean;
  /** What a manifest says of it. */
  about?: About | undefined;
  /** Of an upload that was begun before: all of it is known. */
  begun?: Begun;
};

/** An upload that the journal knows, as it was begun. */
type Begun = {
  id: string;
  workspace: string;
  folder?: string | undefined;
  filename: string;
  label?: string;
  identity?: string;
};

/** What a person says of a file. */
export type About = {
  name?: string | undefined;
  description?: string | undefined;
  contentType?: string | undefined;
  /** Uid or path. */
  folder?: string | undefined;
  tags?: readonly string[] | undefined;
};

/** What is said of a file: itself, else of all alike, else what its path tells. */
export const saidOf = (
  { path, about }: Pick<Wanted, 'path' | 'about'>,
  all: Pick<About, 'name' | 'description' | 'contentType'>,
  contentType: (path: string) => string | undefined,
) => ({
  name: about?.name ?? all.name,
  description: about?.description ?? all.description,
  contentType: about?.contentType ?? all.contentType ?? contentType(path),
  ...(about?.tags && { tags: about.tags }),
});

/** The folders that files go to. */
export type Folders = {
  /**
   * The uid of the folder a file goes to: undefined for the top level, null where it is not there yet.
   */
  find(file: Wanted): string | undefined | null;
  /** The same, made where it is missing. */
  make(file: Wanted): Promise<string | undefined>;
};

/** Where a file would be found among the receipts; undefined where none can be there. */
export function keyOf(
  file: Wanted,
  { service, workspace, folders }: { service: string; workspace: string; folders: Folders },
): ReceiptKey | undefined {
  const folder = file.begun ? file.begun.folder : folders.find(file);
  if (file.knownAs === undefined || folder === null) return undefined;
  return { service, workspace, folder: folder ?? '', path: file.knownAs };
}
