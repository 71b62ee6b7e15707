import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { entryForType, isTimedType } from '../../../contract/asset-values.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Card, FolderView } from '../protocol.ts';
import type { AssetEdit } from '../server/backend.ts';
import { copyLinks, downloadUrl, fetchCard, PageError, setup, trashCard, updateCard, watchUrl } from './api.ts';
import { CardThumbnail } from './asset-card.tsx';
import { Button, IconButton } from './controls.tsx';
import { Facts, FolderChoice, TextFields } from './fields.tsx';
import { useCopy } from './hooks.ts';
import { Icon } from './icon.tsx';
import type { PagedList } from './paged-list.ts';

type DetailProps = {
  uid: string;
  list: PagedList;
  tree: readonly FolderView[];
  /** Opens another asset, or closes the dialog. */
  onOpen(uid: string | null): void;
  onMove(card: Card, folder: FolderView | null): Promise<void>;
  onTrashed(): void;
};

export function Detail({ uid, list, tree, onOpen, onMove, onTrashed }: DetailProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  const { card, ...state } = useCard(uid, list);
  useLayoutEffect(() => {
    const element = dialog.current as HTMLDialogElement;
    element.showModal();
    heading.current?.focus();
    return () => element.close(); // also restores the focus
  }, []);
  const close = () => onOpen(null);
  const closeTrashed = () => {
    close();
    onTrashed();
  };
  const step = async (by: 1 | -1) => {
    const index = list.indexOf(uid);
    const next = index < 0 ? undefined : await list.fetchCard(index + by);
    if (next) onOpen(next.uid);
  };
  const handleKey = createKeyHandler(frame, close, step);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="asset-name"
      onKeyDown={handleKey}
      onCancel={(event) => event.preventDefault() /* Escape is handled by onKeyDown, as in the frame */}
      onClick={({ target }) => target === dialog.current && close()}
    >
      <div class="bar">
        {/* Gets the initial focus, because a button or the player would consume arrow keys and Space. */}
        <h2 id="asset-name" tabIndex={-1} ref={heading} dir="auto">
          {escapeControls(card?.name ?? uid)}
        </h2>
        <Button label="Previous asset" text="←" onClick={() => step(-1)} />
        <Button label="Next asset" text="→" onClick={() => step(1)} />
        <Button label="Close" text="✕" onClick={close} />
      </div>
      <div class="detail">
        <Player uid={uid} card={card} frame={frame} onKey={handleKey} />
        <Properties {...{ uid, card, tree, onMove }} {...state} onTrashed={closeTrashed} />
      </div>
    </dialog>
  );
}

/** Returns the handler of the keys of the dialog and of the frame in it. */
function createKeyHandler(
  frame: RefObject<HTMLIFrameElement | null>,
  close: () => void,
  step: (by: 1 | -1) => unknown,
) {
  return (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.key === 'Escape') {
      event.stopPropagation(); // on the page, it clears the selection
      close();
    } else if (event.key === 'F2') document.querySelector<HTMLInputElement>('.fields input')?.select();
    else if (target.matches?.('input, textarea, select, video, audio, [role=slider]')) return;
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === 'ArrowRight') void step(1);
    else if (event.key === 'ArrowLeft') void step(-1);
    else if (event.key === ' ' && !target.matches?.('button, a')) playOrPause(frame.current);
    else {
      // The keys of the player work on the whole dialog. Those of the frame it has got itself.
      if (target.ownerDocument === document) passKey(frame.current, event.key);
      return;
    }
    event.preventDefault();
  };
}

/** Loads the whole card of an asset, first shown as the list has it. Reloads it when the list has a new status. */
function useCard(uid: string, list: PagedList) {
  const listCard = list.at(list.indexOf(uid));
  const [card, setCard] = useState(listCard);
  /** True once the whole card has loaded. Lists truncate descriptions, so editing stays disabled until then. */
  const [isComplete, setComplete] = useState(false);
  const [problem, setProblem] = useState('');
  const show = (changed: Card) => {
    setCard(changed);
    list.replace(changed);
  };
  /** Reads the list again if somebody else has deleted the asset. @throws Error the same */
  const notFound = (error: Error): never => {
    if (error instanceof PageError && error.status === 404) void list.refresh(false);
    throw error;
  };
  const reload = () =>
    fetchCard(uid)
      .then((whole) => {
        show(whole);
        setComplete(true);
      })
      .catch(notFound)
      .catch((error: Error) => setProblem(error.message));
  useEffect(() => {
    if (!isComplete || (listCard && listCard.means !== card?.means)) void reload();
  }, [listCard?.means]);
  const save = (fields: AssetEdit) => updateCard(uid, fields).then(show).catch(notFound);
  return { card, isComplete, problem, setProblem, reload, save };
}

type PlayerProps = {
  uid: string;
  card: Card | undefined;
  frame: RefObject<HTMLIFrameElement | null>;
  onKey(event: KeyboardEvent): void;
};

/** Renders the watch page in a frame, under the thumbnail until it has loaded. */
function Player({ uid, card, frame, onKey }: PlayerProps) {
  /** Key of the frame. A new status, for example after processing, changes the key and thus reloads the player. */
  const key = card?.means ?? '';
  const [loadedKey, setLoadedKey] = useState<string>();
  return (
    <div class="player">
      {loadedKey !== key && (
        <div class="coming" role="status">
          <span class="picture">{card && <CardThumbnail card={card} />}</span>
          <span class="spinner" />
          <span class="hidden">Loading the player</span>
        </div>
      )}
      <iframe
        ref={frame}
        key={key}
        src={watchUrl(uid)}
        title={`Player: ${card?.name ?? uid}`}
        allow="autoplay; fullscreen; picture-in-picture"
        onLoad={({ currentTarget }) => {
          setLoadedKey(key);
          currentTarget.contentDocument?.addEventListener('keydown', onKey);
        }}
      />
    </div>
  );
}

type PropertiesProps = Pick<DetailProps, 'tree' | 'onMove' | 'onTrashed'> &
  ReturnType<typeof useCard> & { uid: string };

function Properties({ uid, card, isComplete, problem, tree, ...on }: PropertiesProps) {
  return (
    <div class="facts">
      {problem && (
        <div role="alert" class="problem">
          {problem}
        </div>
      )}
      {card && (
        <>
          <Actions {...{ uid, card, isComplete }} onTrashed={on.onTrashed} onProblem={on.setProblem} />
          <fieldset class="fields" disabled={!isComplete}>
            <TextFields card={card} onSave={on.save} onReload={on.reload} />
            <FolderChoice card={card} tree={tree} onMove={(folder) => on.onMove(card, folder).finally(on.reload)} />
          </fieldset>
          <Facts card={card} />
        </>
      )}
    </div>
  );
}

type ActionRowProps = {
  uid: string;
  card: Card;
  isComplete: boolean;
  onTrashed(): void;
  onProblem(problem: string): void;
};

/** Renders what can be done with an asset, as a row of icons, and how the last of it has ended. */
function Actions({ uid, card, isComplete, onTrashed, onProblem }: ActionRowProps) {
  const { outcome, copy, show } = useCopy();
  const [isAsking, setAsking] = useState(false);
  /** True once the question is gone: the button that asked it gets the focus back. */
  const [wasAsked, setAsked] = useState(false);
  const cancel = () => {
    setAsking(false);
    setAsked(true);
  };
  const trash = () =>
    trashCard(card).then(onTrashed, (error: Error) => {
      cancel();
      onProblem(error.message);
    });
  const copyLink = () =>
    copyLinks({ uids: [uid] }).then(
      ({ text }) => copy(text),
      (error: Error) => show(`Not copied: ${error.message}`),
    );
  if (isAsking) return <TrashQuestion onTrash={trash} onCancel={cancel} />;
  return (
    <div class="acts">
      {card.means === 'ready' && (
        <>
          <IconButton icon="link" label="Copy link" onClick={() => void copyLink()} />
          <a
            class="act"
            title="Download"
            aria-label="Download"
            href={downloadUrl(uid)}
            target="_blank"
            rel="noreferrer"
            download={card.name}
          >
            <Icon name="download" />
          </a>
        </>
      )}
      <IconButton icon="copy" label="Copy uid" onClick={() => copy(uid)} />
      <IconButton icon="command" label="Copy command" onClick={() => copy(commandFor(card))} />
      {isComplete && <IconButton icon="trash" label="Trash…" hasFocus={wasAsked} onClick={() => setAsking(true)} />}
      <span role="status">{outcome}</span>
    </div>
  );
}

function TrashQuestion({ onTrash, onCancel }: { onTrash(): void; onCancel(): void }) {
  const handleKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation(); // the dialog stays open
    onCancel();
  };
  return (
    <fieldset class="ask" onKeyDown={handleKey}>
      <legend>Move this asset to the trash? mediactl cannot restore it.</legend>
      <div>
        <Button text="Move to the trash" onClick={onTrash} />
        {/* The safe button has the focus, so that Enter does no harm. */}
        <Button text="Cancel" onClick={onCancel} hasFocus />
      </div>
    </fieldset>
  );
}

const commandFor = ({ uid, type, means }: Card) =>
  means === 'ready' && entryForType(isTimedType, type) ? `${setup.program} play ${uid}` : `${setup.program} get ${uid}`;

const passKey = (frame: HTMLIFrameElement | null, key: string) =>
  frame?.contentDocument?.dispatchEvent(new KeyboardEvent('keydown', { key }));

function playOrPause(frame: HTMLIFrameElement | null): void {
  const media = frame?.contentDocument?.querySelector<HTMLMediaElement>('video, audio');
  if (media?.paused)
    media.play().catch(() => {}); // the page in the frame shows the error
  else media?.pause();
}
