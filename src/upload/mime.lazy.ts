export { default as mime } from 'mime/lite';
