export { SingleBar } from 'cli-progress';
