"""More Keras programs as people paste them: masks of attention, tables that NumPy computes, layers of their own.
Name: (whose words, shapes of the inputs without their batch, text), as in pasted_keras_2.py."""
PROGRAMS = {
    "causal_mha": (3, {"q": (5, 8), "v": (7, 8), "m": (5, 7)}, r"""
import tensorflow as tf
from tensorflow.keras import layers
class CausalSelfAttention(layers.Layer):
  def __init__(self, **kwargs):
    super().__init__()
    self.mha = layers.MultiHeadAttention(**kwargs)
    self.layernorm = layers.LayerNormalization()
    self.add = layers.Add()
  def call(self, x):
    attn_output = self.mha(query=x, value=x, key=x, use_causal_mask = True)
    x = self.add([x, attn_output])
    x = self.layernorm(x)
    return x
q = layers.Input((5, 8), name='q')
v = layers.Input((7, 8), name='v')
m = layers.Input((5, 7), name='m')
a = CausalSelfAttention(num_heads=2, key_dim=4, dropout=0.1)(q)
mask = tf.keras.layers.Lambda(lambda t: t > 0)(m)
b = layers.MultiHeadAttention(2, 4)(a, v, attention_mask=mask)
c = layers.Attention()([q, q], use_causal_mask=True)
d = layers.MultiHeadAttention(2, 3)(q, q, q, attention_mask=tf.linalg.band_part(tf.ones((5, 5)), -1, 0))
model = tf.keras.Model([q, v, m], [a, b, c, d])
"""),
    "transformer": (3, {"ids": (7,)}, r"""
import keras
from keras import layers, ops
class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)
    def call(self, inputs):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output)
        out1 = self.layernorm1(inputs + attn_output)
        ffn_output = self.ffn(out1)
        ffn_output = self.dropout2(ffn_output)
        return self.layernorm2(out1 + ffn_output)
class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)
    def call(self, x):
        maxlen = ops.shape(x)[-1]
        positions = ops.arange(start=0, stop=maxlen, step=1)
        positions = self.pos_emb(positions)
        x = self.token_emb(x)
        return x + positions
vocab_size, maxlen, embed_dim = 20, 7, 8
inputs = layers.Input(shape=(maxlen,))
embedding_layer = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)
x = embedding_layer(inputs)
transformer_block = TransformerBlock(embed_dim, 2, 6)
x = transformer_block(x)
x = layers.GlobalAveragePooling1D()(x)
x = layers.Dropout(0.1)(x)
x = layers.Dense(5, activation="relu")(x)
outputs = layers.Dense(2, activation="softmax")(x)
model = keras.Model(inputs=inputs, outputs=outputs)
"""),
}
