/** A file that nobody edits: its path inside the repository and its whole text. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}
