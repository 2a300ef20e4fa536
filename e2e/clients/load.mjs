/** Imports a library that is installed beside this file: `import()` looks for packages from where it stands. */
export const load = (name) => import(name);
