import { useRef } from 'preact/hooks';
import type { DropContents } from './drops.ts';

/** Renders the upload button, which lets the user choose files without drag and drop. */
export function FileButton({ onFiles }: { onFiles(drop: DropContents): void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])].map((file) => ({ file, relativeDir: '' }));
          onFiles({ files, unreadable: [] });
          currentTarget.value = '';
        }}
      />
      <button type="button" onClick={() => input.current?.click()}>
        Upload…
      </button>
    </>
  );
}
