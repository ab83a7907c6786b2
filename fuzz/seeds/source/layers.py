from keras import Model, Sequential, layers
inner = Sequential([layers.Dense(4, activation="relu"), layers.Dropout(0.5)], name="inner")
i = layers.Input((8, 8, 3))
x = layers.Conv2D(4, 3, padding="same")(i)
for k in range(2):
    x = layers.Add()([x, layers.Conv2D(4, 3, padding="same", activation="relu")(x)])
x = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.Flatten()(layers.MaxPooling2D()(x))])
x = layers.Reshape((-1, 4))(x)
model = Model(i, layers.Dense(2)(layers.LSTM(3)(inner(x))))
