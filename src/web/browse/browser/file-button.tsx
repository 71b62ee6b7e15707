import { useRef } from 'preact/hooks';
import type { Drop } from './drops.ts';

/** Upload button: picks files without drag and drop. */
export function FileButton({ onFiles }: { onFiles(drop: Drop): void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])].map((file) => ({ file, below: '' }));
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
