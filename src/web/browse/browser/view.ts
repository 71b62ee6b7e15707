import { useEffect, useState } from 'preact/hooks';
import { type Query, queryFields } from '../protocol.ts';

/** What is looked at: it stands in the address bar, so that it can be reloaded and sent. */
export type View = { query: Query; asset: string | null };

function viewInAddress(): View {
  const search = new URLSearchParams(location.search);
  const query: Query = {};
  for (const field of queryFields) {
    const value = search.get(field);
    if (value) query[field] = value;
  }
  return { query, asset: search.get('asset') };
}

function addressOf({ query, asset }: View): string {
  const search = new URLSearchParams(query as Record<string, string>);
  if (asset) search.set('asset', asset);
  return search.size > 0 ? `?${search}` : location.pathname;
}

/** The query with that field, or without it where there is no value. The newest comes last. */
export function withField(query: Query, field: keyof Query, value: string | undefined): Query {
  const { [field]: _, ...rest } = query;
  return value ? { ...rest, [field]: value } : rest;
}

/** @returns what is looked at, and how to look at something else; typing does not fill the history */
export function useView(): [View, (next: View, how?: 'push' | 'replace') => void] {
  const [view, setView] = useState(viewInAddress);
  useEffect(() => {
    const back = () => setView(viewInAddress());
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, []);
  const go = (next: View, how: 'push' | 'replace' = 'push') => {
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', addressOf(next));
    setView(next);
  };
  return [view, go];
}
