import type { StoredChange } from '../../../client/changes/change-history.ts';
import { planUndo } from '../../../client/changes/undo.ts';
import type { ChangeOutcome, LibraryChange } from '../../../client/changes/writer.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { byUid, type SelectedAsset, type SelectionPorts, selectFound } from '../../../client/library/select-assets.ts';
import type { OpenedLibrary } from '../../../client/open/open-library.ts';
import { parentOf } from '../../../contract/asset.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import { pluralize } from '../../../shared/figures.ts';
import type { PageMove } from '../../../web/browse/protocol.ts';
import type { Context } from '../../context.ts';
import { isListed, type PageSelections } from './page-selections.ts';

/** Moves of several assets, the only change of many that the page makes: each is one change of the history. */
export class PageMoves {
  readonly #context: Context;
  readonly #opened: OpenedLibrary;
  readonly #selections: PageSelections;
  readonly #ports: SelectionPorts;
  /** Moves of this page that can be undone, by the id of the change. */
  readonly #changes = new Map<string, StoredChange>();

  constructor(context: Context, opened: OpenedLibrary, selections: PageSelections, ports: SelectionPorts) {
    this.#context = context;
    this.#opened = opened;
    this.#selections = selections;
    this.#ports = ports;
  }

  /** Moves assets to a folder; null for the top level. @throws the error of the first if none was moved */
  async move(uids: readonly string[], folder: string | null): Promise<PageMove> {
    const { library, writer } = this.#opened;
    const { assets } = await this.#selections.resolve({ uids });
    const found = await selectFound(library, assets, { foundBy: 'list', ports: this.#ports });
    if (found.length < assets.length)
      throw usageError(`${pluralize(assets.length - found.length, 'asset')} of another workspace cannot be moved here`);
    assertInShownFolders(assets, found);
    const selected = found.map((asset) => (asset.record && isListed(asset.record) ? asset : byUid(asset.uid)));
    const { items } = await (await writer()).plan(selected, { folder });
    const path = folder === null ? '/' : (await library.folders()).tree.find(folder)?.path;
    for (const uid of uids) this.#selections.forget(uid);
    return this.#change({ command: 'browse', summary: `move to ${path ?? folder}`, items });
  }

  /** Takes back a move of this page, as far as the assets are where it left them. */
  async undo(id: string): Promise<PageMove> {
    const change = this.#changes.get(id);
    if (!change) throw new CodedError('this page has made no such change', { code: 'not_found' });
    const { api, writer } = this.#opened;
    const items = await (await this.#context.state.history()).items(id);
    const folders = (await writer()).folderAccess(change);
    const { items: old, conflicts } = await planUndo(api, folders, items, this.#context.signal);
    if (old.length === 0) throw usageError(conflicts[0]?.reason ?? 'there is nothing to undo');
    for (const { uid } of items) this.#selections.forget(uid);
    const summary = `undo ${id}: ${change.summary}`;
    return this.#change({ command: 'undo', summary, undoOf: id, items: old, left: conflicts });
  }

  async #change(change: Omit<LibraryChange, 'ageMs'>): Promise<PageMove> {
    // The page has read the assets some time ago.
    const ageMs = () => Number.POSITIVE_INFINITY;
    const outcome: ChangeOutcome = await (await this.#opened.writer()).change({ ...change, ageMs });
    const error = outcome.results.find((result) => result.error)?.error;
    const count = outcome.results.filter((result) => !result.error).length;
    if (error && count === 0) throw error;
    const canUndo = outcome.isRecorded && change.undoOf === undefined;
    if (canUndo) this.#changes.set(outcome.change.id, outcome.change);
    return { change: canUndo ? outcome.change.id : null, count, problem: error?.message ?? null };
  }
}

/** @throws CodedError `changed_meanwhile` if assets are in other folders than the records that the page has shown */
function assertInShownFolders(shown: readonly AssetRecord[], found: readonly SelectedAsset[]): void {
  const folders = new Map(shown.map((asset) => [normalizeUid(asset.uid), parentOf(asset)]));
  const moved = found.filter(({ uid, record }) => {
    const [then, now] = [folders.get(normalizeUid(uid)), record && parentOf(record)];
    return then !== undefined && now !== undefined && normalizeUid(then ?? '') !== normalizeUid(now ?? '');
  });
  if (moved.length === 0) return;
  throw new CodedError(`others have moved ${moved.length} of these assets meanwhile`, {
    code: 'changed_meanwhile',
  });
}
