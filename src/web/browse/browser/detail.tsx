import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { entryForType, isTimedType } from '../../../contract/asset-values.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { type SlugEdit, toSlug } from '../../../contract/slug.ts';
import type { Card, FolderView } from '../protocol.ts';
import { downloadUrl, fetchCard, trashCard, updateCard, watchUrl } from './api.ts';
import { CardThumbnail } from './asset-card.tsx';
import { Facts, FolderChoice } from './facts.tsx';
import { CopyField, EditableField } from './fields.tsx';

type DetailProps = {
  uid: string;
  /** Card from the list, shown until the full card has loaded. */
  listCard: Card | undefined;
  tree: readonly FolderView[];
  onClose(): void;
  onChange(card: Card): void;
  onMove(folder: FolderView | null): Promise<void>;
  onTrashed(): void;
  onStep(by: 1 | -1): void;
};

/** Renders the dialog of one asset, with its player, editable fields, facts and actions. */
export function Detail(props: DetailProps) {
  const { uid, listCard, tree, onClose, onChange, onMove, onTrashed, onStep } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  const [card, setCard] = useState(listCard);
  /** True once the full card has loaded. Lists truncate descriptions, so editing stays disabled until then. */
  const [isComplete, setComplete] = useState(false);
  const [problem, setProblem] = useState('');
  const [isConfirmingTrash, setConfirmingTrash] = useState(false);
  /** Key of the player. A new status, for example after processing, changes the key and thus reloads the player. */
  const playerKey = card?.means ?? '';
  const [loadedKey, setLoadedKey] = useState<string>();

  useLayoutEffect(() => {
    const element = dialog.current as HTMLDialogElement;
    element.showModal();
    heading.current?.focus();
    return () => element.close(); // also restores the focus
  }, []);
  const reload = () =>
    fetchCard(uid).then(
      (got) => {
        setCard(got);
        setComplete(true);
        onChange(got);
      },
      (error: Error) => setProblem(error.message),
    );
  useEffect(() => void reload(), [uid]);
  const listStatus = listCard?.means;
  // Reloads the card when the list reports a new status.
  useEffect(() => {
    if (card && listStatus && card.means !== listStatus) void reload();
  }, [listStatus]);

  const save = async (fields: Parameters<typeof updateCard>[1]) => {
    const changed = await updateCard(uid, fields);
    setCard(changed);
    onChange(changed);
    return changed;
  };
  const trash = () =>
    trashCard(uid).then(onTrashed, (error: Error) => {
      setConfirmingTrash(false);
      setProblem(error.message);
    });
  const handleKey = (event: KeyboardEvent) => {
    const isInField = (event.target as HTMLElement).matches?.('input, textarea, select, video, audio, [role=slider]');
    const isOnButton = (event.target as HTMLElement).matches?.('button, a');
    if (event.key === 'Escape') isConfirmingTrash ? setConfirmingTrash(false) : onClose();
    else if (isInField || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === 'ArrowRight') onStep(1);
    else if (event.key === 'ArrowLeft') onStep(-1);
    else if (event.key === ' ' && !isOnButton) playOrPause(frame.current);
    else return;
    event.preventDefault();
  };

  return (
    <dialog
      ref={dialog}
      aria-labelledby="asset-name"
      onKeyDown={handleKey}
      onCancel={(event) => event.preventDefault() /* Escape is handled by onKeyDown, as in the frame */}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="bar">
        {/* Gets the initial focus, because a button or the player would consume arrow keys and Space. */}
        <h2 id="asset-name" tabIndex={-1} ref={heading} dir="auto">
          {escapeControls(card?.name ?? uid)}
        </h2>
        <button type="button" onClick={() => onStep(-1)} aria-label="Previous asset">
          ←
        </button>
        <button type="button" onClick={() => onStep(1)} aria-label="Next asset">
          →
        </button>
        <button type="button" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </div>
      <div class="detail">
        <div class="player">
          {loadedKey !== playerKey && (
            <div class="coming" role="status">
              <span class="picture">{card && <CardThumbnail card={card} />}</span>
              <span class="spinner" />
              <span class="hidden">Loading the player</span>
            </div>
          )}
          <iframe
            ref={frame}
            key={playerKey}
            src={watchUrl(uid)}
            title={`Player: ${card?.name ?? uid}`}
            allow="autoplay; fullscreen; picture-in-picture"
            onLoad={({ currentTarget }) => {
              setLoadedKey(playerKey);
              currentTarget.contentDocument?.addEventListener('keydown', handleKey);
            }}
          />
        </div>
        <div class="facts">
          {problem && (
            <div role="alert" class="problem">
              {problem}
            </div>
          )}
          {card && (
            <fieldset class="fields" disabled={!isComplete}>
              <EditableField
                label="Name"
                value={card.name}
                onSave={async (name) => {
                  if (!name) throw new Error('a name is not empty');
                  await save({ name });
                }}
              />
              <EditableField
                label="Description"
                value={card.description}
                isMultiline
                onSave={(description) => save({ description })}
              />
              <EditableField
                label="Tags, with commas between"
                value={formatTags(card)}
                onSave={async (text, before) => save({ tags: parseTagEdit(before, text) })}
              />
              <FolderChoice card={card} tree={tree} onMove={(folder) => onMove(folder).then(reload)} />
              <Facts card={card} />
              {card.means === 'ready' && (
                <a href={downloadUrl(uid)} target="_blank" rel="noreferrer" download={card.name}>
                  Download
                </a>
              )}
              <CopyField label="uid" text={uid} />
              <CopyField label="command" text={commandFor(card)} />
              {isConfirmingTrash ? (
                <fieldset class="ask">
                  <legend>Move it to the trash? mediactl cannot take it out again.</legend>
                  <div>
                    <button type="button" onClick={trash}>
                      Move to the trash
                    </button>
                    <button type="button" ref={focusOnMount} onClick={() => setConfirmingTrash(false)}>
                      Keep it
                    </button>
                  </div>
                </fieldset>
              ) : (
                <button type="button" onClick={() => setConfirmingTrash(true)}>
                  Trash…
                </button>
              )}
            </fieldset>
          )}
        </div>
      </div>
    </dialog>
  );
}

/** Focuses an element when it is mounted. The safe button uses it, so that Enter does no harm. */
const focusOnMount = (element: HTMLElement | null) => element?.focus();

const formatTags = ({ tags }: Card) => (tags ?? []).join(', ');

const splitTags = (text: string) => text.split(',').flatMap((tag) => tag.trim() || []);

/**
 * Compares the entered tags with those before the edit, and returns the tags to add and to remove.
 * @throws Error for an invalid tag
 */
function parseTagEdit(textBefore: string, text: string): SlugEdit {
  const before = splitTags(textBefore);
  const typed = splitTags(text);
  const after = typed.map((tag) => (before.includes(tag) ? tag : (toSlug(tag) ?? '')));
  const refused = typed.filter((_, at) => !after[at]);
  if (refused.length > 0) throw new Error(`${refused.join(', ')}: a tag has letters from a to z, digits and hyphens`);
  const add = after.filter((tag) => !before.includes(tag));
  return { add, remove: before.filter((tag) => !after.includes(tag)) };
}

const commandFor = ({ uid, type, means }: Card) =>
  means === 'ready' && entryForType(isTimedType, type) ? `mediactl play ${uid}` : `mediactl assets get ${uid}`;

function playOrPause(frame: HTMLIFrameElement | null): void {
  const media = frame?.contentDocument?.querySelector<HTMLMediaElement>('video, audio');
  if (media?.paused)
    media.play().catch(() => {}); // the page in the frame shows the error
  else media?.pause();
}
