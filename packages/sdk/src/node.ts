export { certificateCodeOf } from './certificate-failure.ts';
export { type Access, findAccess } from './node/access.ts';
export {
  type Connection,
  ConnectionError,
  type ConnectionPlaces,
  ForeignConnectionError,
  findConnection,
  parseConnection,
} from './node/connection.ts';
export { fileStore } from './node/file-store.ts';
export { visible } from './node/visible.ts';
