export { fileStore } from './node/file-store.ts';
