export { default as picomatch } from 'picomatch';
