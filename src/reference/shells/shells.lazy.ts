export { shells } from './shells.ts';
