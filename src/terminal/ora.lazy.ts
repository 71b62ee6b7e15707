export { default as ora } from 'ora';
