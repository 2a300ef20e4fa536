/** Keeps one small text from one start of a program to the next. A file store is in `@baton/sdk/node`. */
export interface Store {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}
