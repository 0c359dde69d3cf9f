// Rules that find errors. The form is prettier's (`make format`).

import js from "@eslint/js";
import globals from "globals";
import typescript from "typescript-eslint";

const ERRORS = {
  "array-callback-return": "error",
  eqeqeq: ["error", "always", { null: "ignore" }],
  "no-constructor-return": "error",
  "no-duplicate-imports": "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-self-compare": "error",
  "no-template-curly-in-string": "error",
  "no-unassigned-vars": "error",
  "no-unreachable-loop": "error",
  "no-unused-expressions": "error",
  "no-unused-private-class-members": "off", // it takes `this.#timer ||= …` for no use; tsc knows better
  "no-unused-vars": ["error", { ignoreRestSiblings: true }],
  "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
  "no-useless-rename": "error",
  "no-useless-return": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
};

// These know the types. A promise that nobody awaits loses its error, in a test also the failure.
const TYPED_ERRORS = {
  "@typescript-eslint/await-thenable": "error",
  "@typescript-eslint/no-floating-promises": [
    "error",
    { allowForKnownSafeCalls: [{ from: "package", name: "test", package: "node:test" }] },
  ],
  "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: false }],
  "@typescript-eslint/only-throw-error": "error",
};

export default [
  { ignores: ["frontend/contract.js", "eslint.config.js"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    files: ["{frontend,observatory/client,tests/frontend}/**/*.js"],
    plugins: { "@typescript-eslint": typescript.plugin },
    languageOptions: {
      parser: typescript.parser,
      parserOptions: {
        project: ["tsconfig.json", "tests/frontend/tsconfig.json"],
        tsconfigRootDir: import.meta.dirname,
      },
      globals: globals.browser,
    },
    rules: { ...ERRORS, ...TYPED_ERRORS },
  },
  { files: ["tests/frontend/**/*.js"], languageOptions: { globals: globals.node } },
];
