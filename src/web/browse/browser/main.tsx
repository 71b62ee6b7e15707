import { render } from 'preact';
import { App } from './app.tsx';

const root = document.getElementById('gallery') as HTMLElement;
root.replaceChildren();
render(<App />, root);
