export { isSafeNumber, parse } from 'lossless-json';
